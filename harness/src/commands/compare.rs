//! `superstep compare`: did two runs do the same? Counts and digests, benchmark by benchmark.

use std::path::PathBuf;

use serde::Serialize;
use superstep_analysis::RunSummary;
use superstep_analysis::run_summary::{BenchmarkSummary, Status};
use superstep_harness::exit_code;
use superstep_harness::failure::Failure;
use superstep_harness::results::{MessageFormat, RunFolder};

/// Arguments of `superstep compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of a run.
    run_a: PathBuf,
    /// Folder of another run of the same suite and size.
    run_b: PathBuf,
    /// Form of the messages.
    #[arg(long, value_enum, default_value_t)]
    message_format: MessageFormat,
}

/// The comparison of one benchmark.
#[derive(Debug, Serialize)]
struct Line {
    reason: &'static str,
    schema_version: u32,
    benchmark: String,
    equal: bool,
    detail: String,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<i32, Failure> {
    let a = RunFolder::open(&args.run_a).read_summary()?;
    let b = RunFolder::open(&args.run_b).read_summary()?;
    let lines = compare(&a, &b);
    super::view::print(|out| {
        for line in &lines {
            match args.message_format {
                MessageFormat::Json => {
                    writeln!(out, "{}", serde_json::to_string(line).unwrap_or_default())?
                }
                MessageFormat::Human => {
                    writeln!(
                        out,
                        "{}: {}: {}",
                        line.benchmark,
                        if line.equal { "equal" } else { "DIFFERENT" },
                        line.detail
                    )?;
                }
            }
        }
        Ok(())
    })?;
    let equal = !lines.is_empty() && lines.iter().all(|line| line.equal);
    Ok(if equal {
        exit_code::OK
    } else {
        exit_code::BENCHMARK_FAILED
    })
}

fn compare(a: &RunSummary, b: &RunSummary) -> Vec<Line> {
    let mut names: Vec<&str> = a
        .benchmarks
        .iter()
        .map(|benchmark| benchmark.name.as_str())
        .collect();
    names.extend(
        b.benchmarks
            .iter()
            .map(|benchmark| benchmark.name.as_str())
            .filter(|name| !a.benchmarks.iter().any(|known| known.name == *name)),
    );
    let find = |run: &RunSummary, name: &str| {
        run.benchmarks
            .iter()
            .find(|benchmark| benchmark.name == name)
            .cloned()
    };
    let line = |name: &str| {
        let result = match (find(a, name), find(b, name)) {
            (Some(a), Some(b)) => benchmarks(&a, &b),
            (None, _) => Err("only in the second run".to_owned()),
            (_, None) => Err("only in the first run".to_owned()),
        };
        let equal = result.is_ok();
        Line {
            reason: "comparison",
            schema_version: 1,
            benchmark: name.to_owned(),
            equal,
            detail: result.unwrap_or_else(|why| why),
        }
    };
    names.into_iter().map(line).collect()
}

/// What is equal, or the first thing that is not.
fn benchmarks(a: &BenchmarkSummary, b: &BenchmarkSummary) -> Result<String, String> {
    for (run, benchmark) in [("first", a), ("second", b)] {
        if benchmark.status != Status::Passed {
            return Err(format!("{} in the {run} run", benchmark.status.as_str()));
        }
    }
    let same = |what: &str, a: &dyn std::fmt::Debug, b: &dyn std::fmt::Debug| {
        let (a, b) = (format!("{a:?}"), format!("{b:?}"));
        if a == b {
            Ok(())
        } else {
            Err(format!("{what}: {a} and {b}"))
        }
    };
    same("size", &a.size, &b.size)?;
    let hashes = |benchmark: &BenchmarkSummary| -> Vec<(String, String)> {
        benchmark
            .inputs
            .iter()
            .map(|input| (input.name.clone(), input.sha256.clone()))
            .collect()
    };
    same("inputs", &hashes(a), &hashes(b))?;
    same(
        "launches",
        &a.launches.unwrap_or(0),
        &b.launches.unwrap_or(0),
    )?;
    same("CTAs", &a.ctas.unwrap_or(0), &b.ctas.unwrap_or(0))?;
    if !a.deterministic || !b.deterministic {
        return Ok(format!(
            "{} launches, {} CTAs; accesses differ from run to run",
            a.launches.unwrap_or(0),
            a.ctas.unwrap_or(0)
        ));
    }
    same("kernels", &a.kernels.len(), &b.kernels.len())?;
    for (a, b) in a.kernels.iter().zip(&b.kernels) {
        same("kernel", a, b)?;
    }
    same("digest", &a.digest, &b.digest)?;
    Ok(format!(
        "{} launches, {} CTAs, digest {}",
        a.launches.unwrap_or(0),
        a.ctas.unwrap_or(0),
        a.digest.as_deref().unwrap_or("none")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use superstep_analysis::run_summary::KernelSummary;

    fn benchmark(digest: &str, loads: u64) -> BenchmarkSummary {
        BenchmarkSummary {
            name: "hs2d".into(),
            status: Status::Passed,
            launches: Some(5),
            ctas: Some(10),
            digest: Some(digest.into()),
            deterministic: true,
            kernels: vec![KernelSummary {
                name: "k".into(),
                loads,
                ..KernelSummary::default()
            }],
            ..BenchmarkSummary::default()
        }
    }

    #[test]
    fn counts_and_digest_decide() {
        assert!(benchmarks(&benchmark("a", 1), &benchmark("a", 1)).is_ok());
        assert!(
            benchmarks(&benchmark("a", 1), &benchmark("b", 1))
                .unwrap_err()
                .contains("digest")
        );
        assert!(
            benchmarks(&benchmark("a", 1), &benchmark("a", 2))
                .unwrap_err()
                .contains("kernel")
        );
        let failed = BenchmarkSummary {
            status: Status::Failed,
            ..benchmark("a", 1)
        };
        assert!(
            benchmarks(&benchmark("a", 1), &failed)
                .unwrap_err()
                .contains("second run")
        );
    }

    #[test]
    fn accesses_that_vary_are_left_out() {
        let varies = |digest: &str| BenchmarkSummary {
            deterministic: false,
            ..benchmark(digest, 1)
        };
        assert!(benchmarks(&varies("a"), &varies("b")).is_ok());
    }

    #[test]
    fn a_benchmark_of_one_run_only_is_a_difference() {
        let with = RunSummary {
            benchmarks: vec![benchmark("a", 1)],
            ..RunSummary::default()
        };
        let lines = compare(&with, &RunSummary::default());
        assert!(!lines[0].equal && lines[0].detail.contains("first"));
    }
}
