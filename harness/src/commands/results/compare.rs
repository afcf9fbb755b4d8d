//! `superstep compare`: compares counts, digests, volumes and times of two runs, benchmark by benchmark.

use std::path::PathBuf;

use crate::arguments::value;
use crate::results::{MIN_TIME_S, MessageFormat, RunFolder, human_bytes};
use crate::terminal::{print, print_json};
use crate::verify::{in_short, same_each_launch};
use serde::Serialize;
use serde_json::json;
use superstep_analysis::run_summary::{
    BenchmarkSummary, CommunicationSummary, InputRecord, Reproducibility, RunSummary, Seconds,
    Status, in_words,
};
use superstep_build::bail;
use superstep_build::compile::quote;
use superstep_build::exit_code;
use superstep_build::failure::Failure;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the first run.
    run_a: PathBuf,
    /// Folder of the second run, of the same suite and size.
    run_b: PathBuf,
    /// Maximum increase in any time from the first run to the second, in percent [default: no limit]. Times below
    /// 0.05 s in both runs are ignored.
    #[arg(long, value_name = "PERCENT", value_parser = value::non_negative)]
    max_slowdown: Option<f64>,
    /// Print JSON.
    #[arg(long, conflicts_with = "message_format")]
    json: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    message_format: MessageFormat,
}

#[derive(Debug, Serialize)]
struct Line {
    reason: &'static str,
    schema_version: u32,
    benchmark: String,
    equal: bool,
    detail: String,
    /// Ratios of the second run's times to the first's; empty if only one of them ran on a GPU.
    time_ratios: Vec<(&'static str, f64)>,
}

/// First difference between the results of a benchmark in two runs.
#[derive(Debug, thiserror::Error)]
enum Difference {
    #[error("only in the {0} run")]
    OnlyIn(&'static str),
    #[error("{} in the {run} run", status.name())]
    NotPassed { status: Status, run: &'static str },
    /// The property that differs, with its values in the first and in the second run.
    #[error("{0}: {1} and {2}")]
    Values(&'static str, String, String),
    #[error("{name}: {first:.3} s and {second:.3} s, more than {limit} % slower")]
    Slower {
        name: &'static str,
        first: f64,
        second: f64,
        limit: f64,
    },
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let a = RunFolder::open(&args.run_a).read_summary()?;
    let b = RunFolder::open(&args.run_b).read_summary()?;
    let incomparable = device_difference(&a, &b);
    if let (Some(why), Some(_)) = (&incomparable, args.max_slowdown) {
        bail!(
            Usage,
            "failed to apply --max-slowdown: {why}; remove the option"
        );
    }
    let lines = compare(&a, &b, args.max_slowdown);
    let equal = !lines.is_empty() && lines.iter().all(|line| line.equal);
    let code = match equal {
        true => exit_code::OK,
        false => exit_code::BENCHMARK_FAILED,
    };
    let runs = [(&args.run_a, &a), (&args.run_b, &b)];
    if args.json {
        let run = |(folder, run): (_, &RunSummary)| {
            json!({
                "folder": folder, "started": run.started, "suite": run.suite, "size": run.size, "command": run.command,
            })
        };
        print_json(&json!({
            "schema_version": 1, "equal": equal, "runs": runs.map(run), "benchmarks": lines,
        }))?;
        return Ok(code);
    }
    print(|out| {
        if args.message_format == MessageFormat::Human {
            if let Some(lines) = command_difference(runs) {
                writeln!(out, "{lines}")?;
            }
            if let Some(why) = &incomparable {
                writeln!(out, "no time ratios: {why}")?;
            }
        }
        for line in &lines {
            match args.message_format {
                MessageFormat::Json => {
                    writeln!(out, "{}", serde_json::to_string(line)?)?;
                }
                MessageFormat::Human => {
                    let ratios = line.time_ratios.iter();
                    let times: String = ratios
                        .map(|(name, ratio)| format!("; {name} x {ratio:.2}"))
                        .collect();
                    let word = if line.equal { "equal" } else { "DIFFERENT" };
                    writeln!(out, "{}: {word}: {}{times}", line.benchmark, line.detail)?;
                }
            }
        }
        Ok(())
    })?;
    Ok(code)
}

/// Returns lines with the command of each run, or `None` if the commands are equal.
fn command_difference(runs: [(&PathBuf, &RunSummary); 2]) -> Option<String> {
    let [(_, a), (_, b)] = runs;
    if a.command.get(1..) == b.command.get(1..) {
        return None;
    }
    let line = |number: &str, (folder, run): (&PathBuf, &RunSummary)| {
        let words: Vec<String> = run.command.iter().skip(1).map(|word| quote(word)).collect();
        format!(
            "  {number}: superstep {} ({})",
            words.join(" "),
            folder.display()
        )
    };
    let title = "the command lines differ; below, the first run's values come first:";
    let (first, second) = (line("first", runs[0]), line("second", runs[1]));
    Some(format!("{title}\n{first}\n{second}"))
}

/// Returns why the two runs' times are not comparable, or `None` if they are.
fn device_difference(a: &RunSummary, b: &RunSummary) -> Option<String> {
    (a.backend != b.backend).then(|| {
        format!(
            "the first run's kernels ran on {} ({}), the second's on {} ({})",
            a.backend, a.device, b.backend, b.device
        )
    })
}

fn compare(a: &RunSummary, b: &RunSummary, max_slowdown: Option<f64>) -> Vec<Line> {
    fn find<'a>(run: &'a RunSummary, name: &str) -> Option<&'a BenchmarkSummary> {
        run.benchmarks.iter().find(|row| row.name == name)
    }
    let only_in_b = b.benchmarks.iter();
    let only_in_b = only_in_b.filter(|row| find(a, &row.name).is_none());
    let line = |row: &BenchmarkSummary| {
        let mut time_ratios = Vec::new();
        let result = match (find(a, &row.name), find(b, &row.name)) {
            (Some(first), Some(second)) => {
                if device_difference(a, b).is_none() {
                    time_ratios = ratios(&first.seconds, &second.seconds);
                }
                benchmarks(first, second, max_slowdown)
            }
            (None, _) => Err(Difference::OnlyIn("second")),
            (_, None) => Err(Difference::OnlyIn("first")),
        };
        Line {
            reason: "comparison",
            schema_version: 1,
            benchmark: row.name.clone(),
            equal: result.is_ok(),
            detail: result.unwrap_or_else(|difference| difference.to_string()),
            time_ratios,
        }
    };
    a.benchmarks.iter().chain(only_in_b).map(line).collect()
}

fn times(a: &Seconds, b: &Seconds) -> Vec<(&'static str, f64, f64)> {
    [
        ("native", a.native, b.native),
        ("traced", a.traced, b.traced),
        ("native kernels", a.native_kernel, b.native_kernel),
        ("traced kernels", a.traced_kernel, b.traced_kernel),
    ]
    .into_iter()
    .filter_map(|(name, a, b)| Some((name, a?, b?)))
    .collect()
}

fn ratios(a: &Seconds, b: &Seconds) -> Vec<(&'static str, f64)> {
    times(a, b)
        .into_iter()
        .filter(|(_, a, _)| *a > 0.0)
        .map(|(name, a, b)| (name, b / a))
        .collect()
}

fn require_equal<T: PartialEq + ToString>(
    what: &'static str,
    first: T,
    second: T,
) -> Result<(), Difference> {
    require_equal_shown(what, &first, &second, T::to_string)
}

/// Compares two values; `show` formats them for the message.
fn require_equal_shown<T: PartialEq>(
    what: &'static str,
    first: &T,
    second: &T,
    show: impl Fn(&T) -> String,
) -> Result<(), Difference> {
    if first == second {
        return Ok(());
    }
    Err(Difference::Values(what, show(first), show(second)))
}

fn inputs(benchmark: &BenchmarkSummary) -> String {
    let input = |input: &InputRecord| format!("{} ({})", input.name, input.sha256);
    let all: Vec<String> = benchmark.inputs.iter().map(input).collect();
    match &all[..] {
        [] => "none".to_owned(),
        all => all.join(", "),
    }
}

fn show_communication(communication: &Option<CommunicationSummary>) -> String {
    communication.map_or_else(
        || "none".to_owned(),
        |it| {
            let communicated = it.communicated_in_words(human_bytes);
            format!("{communicated} of {} stored", human_bytes(it.stored_bytes))
        },
    )
}

/// Returns a summary of two equal results, or the first difference.
fn benchmarks(
    a: &BenchmarkSummary,
    b: &BenchmarkSummary,
    max_slowdown: Option<f64>,
) -> Result<String, Difference> {
    for (run, benchmark) in [("first", a), ("second", b)] {
        if benchmark.status != Status::Passed {
            let status = benchmark.status;
            return Err(Difference::NotPassed { status, run });
        }
    }
    require_equal("size", &a.size, &b.size)?;
    require_equal("inputs", inputs(a), inputs(b))?;
    let common = a.reproducibility().min(b.reproducibility());
    let (launches, ctas) = (a.launches.unwrap_or(0), a.ctas.unwrap_or(0));
    if common >= Reproducibility::Launches {
        require_equal("launches", launches, b.launches.unwrap_or(0))?;
        require_equal("CTAs", ctas, b.ctas.unwrap_or(0))?;
    }
    if common != Reproducibility::Launches {
        require_equal("kernels", a.kernels.len(), b.kernels.len())?;
        for (a, b) in a.kernels.iter().zip(&b.kernels) {
            if common >= Reproducibility::Counts || !same_each_launch(a, b) {
                require_equal_shown("kernel", a, b, in_short)?;
            }
        }
    }
    let detail = if common == Reproducibility::Digests && (a.in_situ || b.in_situ) {
        volumes_agree(a, b)?;
        format!("{launches} launches, {ctas} CTAs, and communication; an in-situ run has no digest")
    } else if common == Reproducibility::Digests {
        let [digest, other] = [a, b].map(|it| it.digest.as_deref().unwrap_or("none"));
        require_equal("digest", digest, other)?;
        let (first, second) = (&a.communication, &b.communication);
        require_equal_shown("communication", first, second, show_communication)?;
        format!("{launches} launches, {ctas} CTAs, digest {digest}")
    } else {
        let change = volume_changes(a, b);
        format!("{launches} launches, {ctas} CTAs; accesses differ from run to run{change}")
    };
    if let Some(limit) = max_slowdown {
        for (name, first, second) in times(&a.seconds, &b.seconds) {
            if first.max(second) >= MIN_TIME_S && second > first * (1.0 + limit / 100.0) {
                return Err(Difference::Slower {
                    name,
                    first,
                    second,
                    limit,
                });
            }
        }
    }
    Ok(detail)
}

/// Compares the bounds of communication if one run was in situ.
fn volumes_agree(a: &BenchmarkSummary, b: &BenchmarkSummary) -> Result<(), Difference> {
    let (a, b) = (a.communication, b.communication);
    let (first, second) = (a.unwrap_or_default(), b.unwrap_or_default());
    require_equal("bytes stored", first.stored_bytes, second.stored_bytes)?;
    let [x, y] = [&first, &second].map(CommunicationSummary::communicated_between);
    if x.least > y.most || y.least > x.most {
        let [first, second] = [x, y].map(|it| in_words(it, human_bytes));
        return Err(Difference::Values("bytes communicated", first, second));
    }
    Ok(())
}

/// Describes how the volumes of a nondeterministic program differ.
fn volume_changes(a: &BenchmarkSummary, b: &BenchmarkSummary) -> String {
    let volumes = |benchmark: &BenchmarkSummary| {
        let bytes = benchmark.bytes.unwrap_or_default();
        let communicated = benchmark.communication.unwrap_or_default();
        [
            ("loaded", bytes.loaded),
            ("stored", bytes.stored),
            ("atomic", bytes.atomic),
            ("communicated", communicated.communicated_bytes),
        ]
    };
    let changed = volumes(a).into_iter().zip(volumes(b));
    let changed = changed.filter(|((_, a), (_, b))| a != b);
    let texts = changed.map(|((name, a), (_, b))| {
        let percent = 100.0 * (b as f64 - a as f64).abs() / (a as f64).max(1.0);
        format!("; {name} bytes differ by {percent:.1} %")
    });
    texts.collect()
}

#[cfg(test)]
mod tests;
