//! `superstep verify`: a capture against itself, or with `--counters` against the GPU's own counters.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bundle::Bundle;
use crate::capture::failure;
use crate::counters::{self, Comparison};
use crate::results::{MessageFormat, Reporter, human_count};
use crate::suite::{Case, Kind, SuiteOptions, select};
use crate::verify;
use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use superstep_build::compile::BuildOptions;
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::manifest::{Manifest, Size};
use superstep_report::run_summary::Check;

use super::common::{ExecuteArgs, FetchArgs, SelectArgs};
use super::view;

/// Arguments of `superstep verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A capture; with --counters also a bundle [default: the bundle that this executable lies in].
    #[arg(value_name = "CAPTURE|BUNDLE")]
    target: Option<PathBuf>,
    /// Compare access groups with the hardware counters that Nsight Compute reads of the program without instrumentation.
    #[arg(long)]
    counters: bool,
    /// Take the counters from this CSV of Nsight Compute instead of running it.
    #[arg(long, value_name = "FILE", requires = "counters")]
    counters_file: Option<PathBuf>,
    /// Nsight Compute [default: ncu in PATH, or the newest in /opt/nvidia/nsight-compute].
    #[arg(long, value_name = "FILE", requires = "counters")]
    ncu: Option<PathBuf>,
    /// Print the command that collects the counters instead of running it.
    #[arg(long, requires = "counters")]
    dry_run: bool,
    /// Also write every launch's numbers as JSON.
    #[arg(long, value_name = "FILE", requires = "counters")]
    json: Option<PathBuf>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    execute: ExecuteArgs,
}

/// What was found of one program.
#[derive(Debug, Serialize)]
struct Program {
    benchmark: String,
    equal: bool,
    comparison: Comparison,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<i32, Failure> {
    let own = || std::env::current_exe().ok()?.parent().map(Path::to_owned);
    let Some(target) = args.target.clone().or_else(own) else {
        return Err(usage("failed to find the bundle: give its folder"));
    };
    if !args.counters {
        return check_capture(&target);
    }
    if args.dry_run {
        println!(
            "ncu {} PROGRAM ARGUMENTS…",
            counters::ncu_arguments("counters.csv").join(" ")
        );
        return Ok(exit_code::OK);
    }
    let programs = if target.join("bundle.json").is_file() {
        bundle(args, &target)?
    } else {
        let Some(file) = &args.counters_file else {
            return Err(usage(
                "failed to find counters for a capture: give them with --counters-file, or give a bundle",
            ));
        };
        vec![program("capture", &target, file)?]
    };
    print(&programs);
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&programs)
            .map_err(|error| Failure::internal("write JSON", error))?;
        fs::write(path, text + "\n")
            .map_err(|error| Failure::internal(format_args!("write {}", path.display()), error))?;
    }
    match programs.iter().all(|program| program.equal) {
        true => Ok(exit_code::OK),
        false => Ok(exit_code::VERIFICATION),
    }
}

fn usage(message: &str) -> Failure {
    Failure::new(FailureKind::Usage, message)
}

/// What a capture says about itself.
fn check_capture(path: &Path) -> Result<i32, Failure> {
    let capture = view::open(path)?;
    let scan = verify::scan(&capture).map_err(failure)?;
    let mut checks = vec![verify::capture_complete(&capture)];
    checks.extend(scan.checks(capture.sites()));
    if let Some(selection) = verify::selection_of(&capture) {
        checks.push(
            verify::check_selection(&capture, &scan, selection)
                .map_err(failure)?
                .0,
        );
    }
    view::print(|out| {
        checks.iter().try_for_each(
            |Check {
                 check, ok, detail, ..
             }| {
                let word = if *ok { "holds" } else { "DOES NOT HOLD" };
                writeln!(out, "{check}: {word}: {detail}")
            },
        )
    })?;
    match checks.iter().all(|check| check.ok) {
        _ if capture.damaged => Ok(view::conclude(&capture)),
        true => Ok(exit_code::OK),
        false => Ok(exit_code::VERIFICATION),
    }
}

fn program(benchmark: &str, capture: &Path, file: &Path) -> Result<Program, Failure> {
    let text = fs::read(file).map_err(|error| {
        usage(&format!(
            "failed to read {}: {error}; give a CSV of ncu",
            file.display()
        ))
    })?;
    let capture = view::open(capture)?;
    if let Some(selection) = &capture.header.selection {
        let message = format!(
            "failed to compare counters: only a part of the program is recorded ({selection:?}), the counters are those of all of it"
        );
        return Err(Failure::new(FailureKind::Usage, message));
    }
    let profile = counters::read_csv(&String::from_utf8_lossy(&text)).map_err(|error| {
        Failure::new(
            FailureKind::Verification,
            format!("{}: {error}", file.display()),
        )
    })?;
    let comparison = counters::compare(&capture, &profile).map_err(failure)?;
    Ok(Program {
        benchmark: benchmark.to_owned(),
        equal: comparison.is_equal(),
        comparison,
    })
}

/// Runs the programs of a bundle traced, and untraced below Nsight Compute.
fn bundle(args: &Args, folder: &Path) -> Result<Vec<Program>, Failure> {
    let bundle = Bundle::open(folder)?;
    let suite = Manifest::load_suite(&bundle.suite())?;
    let mut fetch = args.fetch.options()?;
    if fetch.data_mirror.is_none() && bundle.data().is_dir() {
        fetch.data_mirror = Some(bundle.data());
    }
    let build = BuildOptions {
        protocol: bundle.info.protocol.clone(),
        ..BuildOptions::new(bundle.info.backend)
    };
    let mut options: SuiteOptions =
        args.execute
            .options_for(&args.select, build, fetch, None, false)?;
    options
        .environment
        .retain(|(name, _)| name != "SUPERSTEP_PROTOCOL");
    let protocol = bundle.info.protocol.clone();
    options
        .environment
        .push(("SUPERSTEP_PROTOCOL".to_owned(), protocol));
    let selected: Vec<_> = select(&suite, &options)?
        .into_iter()
        .filter(|benchmark| bundle.info.benchmarks.contains(&benchmark.name))
        .collect();
    if args.counters_file.is_some() && selected.len() != 1 {
        return Err(usage(
            "failed to use --counters-file: it holds one program; name it with --only",
        ));
    }
    let ncu = match &args.ncu {
        Some(path) => path.clone(),
        None if args.counters_file.is_some() => PathBuf::new(),
        None => find_ncu()?,
    };
    let out = options.out.join(&suite.name).join("counters");
    let out = absolute(&out)?;
    let reporter = Reporter::new(MessageFormat::Human);
    let mut programs = Vec::new();
    for benchmark in selected {
        let name = options.size.as_ref().unwrap_or(&suite.default_size);
        let Some(size) = benchmark.sizes.get(name) else {
            reporter.line(&format!(
                "{}: skipped: it has no size {name}",
                benchmark.name
            ));
            continue;
        };
        let place = out.join(&benchmark.name);
        if place.exists() {
            fs::remove_dir_all(&place).map_err(|error| {
                Failure::internal(format_args!("remove {}", place.display()), error)
            })?;
        }
        let executables = bundle.executables(&benchmark.name)?;
        let sources = bundle.info.sources.get(&benchmark.name).cloned();
        let sources = sources.unwrap_or_default();
        let case = |size| Case {
            suite: &suite,
            benchmark,
            size,
            options: &options,
            sources: &sources,
        };
        reporter.doing(format!("{}: running traced", benchmark.name));
        let capture = place.join("capture");
        let traced =
            case(size).execute(Kind::Traced, &executables.traced, &place, Some(&capture))?;
        if let Some(failure) = traced.failure(&case(size)) {
            return Err(failure);
        }
        let csv = match &args.counters_file {
            Some(file) => file.clone(),
            None => {
                reporter.doing(format!("{}: counting below Nsight Compute", benchmark.name));
                let csv = place.join("counters.csv");
                let mut below = counters::ncu_arguments(&csv.display().to_string());
                below.push(executables.native.display().to_string());
                below.extend(size.args.iter().cloned());
                let size = Size {
                    args: below,
                    ..size.clone()
                };
                let counted = case(&size).execute(Kind::Native, &ncu, &place, None)?;
                // A table says more than the exit code of what collected it.
                if let Some(failure) = counted.failure(&case(&size)).filter(|_| !csv.is_file()) {
                    return Err(failure);
                }
                csv
            }
        };
        programs.push(program(&benchmark.name, &capture, &csv)?);
    }
    reporter.finish();
    Ok(programs)
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::internal(format_args!("find {}", path.display()), error))
}

fn find_ncu() -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("ncu"));
    let mut installed: Vec<PathBuf> = fs::read_dir("/opt/nvidia/nsight-compute")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("ncu")))
        .collect();
    installed.sort();
    let mut places = in_path.chain(installed.into_iter().rev());
    places.find(|path| path.is_file()).ok_or_else(|| {
        Failure::new(
            FailureKind::Tool,
            "failed to find Nsight Compute: name it with --ncu, or collect the counters elsewhere (--dry-run prints how) and give them with --counters-file",
        )
    })
}

fn print(programs: &[Program]) {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .force_no_tty();
    let header = [
        "program",
        "kernel",
        "class",
        "groups",
        "requests",
        "executed",
        "all lanes off",
        "launches that differ",
    ];
    table.set_header(header.map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    let number = |number: Option<u64>| number.map_or_else(|| "not counted".to_owned(), human_count);
    for program in programs {
        for (kernel, class, counts, differing) in program.comparison.by_kernel() {
            if counts.groups == 0
                && counts.requests.unwrap_or(0) == 0
                && counts.executed.unwrap_or(0) == 0
            {
                continue;
            }
            let off = counts
                .predicated_off()
                .map_or_else(String::new, |off| off.to_string());
            table.add_row([
                program.benchmark.clone(),
                kernel,
                class.word().to_owned(),
                human_count(counts.groups),
                number(counts.requests),
                number(counts.executed),
                off,
                differing.to_string(),
            ]);
        }
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for line in table.lines() {
        println!("{}", line.trim_end());
    }
    for program in programs {
        let verdict = if program.equal { "equal" } else { "DIFFERENT" };
        let launches = program.comparison.launches.len();
        let why = program.comparison.unmatched.as_deref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        println!(
            "{}: {verdict} in {launches} launches{why}",
            program.benchmark
        );
    }
}
