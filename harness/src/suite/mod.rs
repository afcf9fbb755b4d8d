//! A whole suite: fetch and build everything, then run, verify and analyse one benchmark after the other.
//!
//! Benchmarks are built in parallel and run one at a time, so that their times mean something. A benchmark that fails is
//! recorded with the kind of its failure and the others go on; `run.json` is written after each, so that an interrupted
//! run leaves what it had.

mod analyse;
mod benchmark;
mod execute;
mod options;
mod prepare;

use std::path::Path;

use serde_json::json;
use superstep_analysis::RunSummary;
use superstep_analysis::run_summary::{BenchmarkSummary, SCHEMA_VERSION, Status};

pub use analyse::redraw;
pub use execute::{Case, Kind, Run};
pub use options::{Selection, SuiteOptions, Target, default_memory_limit_bytes};
pub use prepare::{InputPlace, build_all, fetch_all, find_input};

use crate::compile::Executables;
use crate::failure::{Failure, FailureKind};
use crate::interrupt;
use crate::manifest::{Benchmark, Suite};
use crate::results::{Reporter, RunFolder, host};

/// A benchmark that is to run: its executables, or why it has none.
pub struct Prepared<'a> {
    /// The benchmark.
    pub benchmark: &'a Benchmark,
    /// Its executables.
    pub executables: Result<Executables, Failure>,
}

/// What identifies the build, for golden results.
#[derive(Debug, Clone)]
pub struct BuildIdentity {
    /// Version of LLVM.
    pub llvm: String,
    /// Architecture of the device IR.
    pub gpu_arch: u32,
}

/// The benchmarks of `suite` that `options` select, in order.
///
/// # Errors
/// None is selected, or the size is unknown to all of them.
pub fn select<'a>(suite: &'a Suite, options: &SuiteOptions) -> Result<Vec<&'a Benchmark>, Failure> {
    let usage = |message: String| Err(Failure::new(FailureKind::Usage, message));
    let selected: Vec<_> = suite
        .benchmarks
        .iter()
        .filter(|benchmark| options.selection.takes(&benchmark.name))
        .collect();
    let names = |benchmarks: &[Benchmark]| {
        benchmarks
            .iter()
            .map(|benchmark| benchmark.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    if selected.is_empty() {
        return usage(format!(
            "failed to select benchmarks: none matches --only and --exclude; the suite has {}",
            names(&suite.benchmarks)
        ));
    }
    if let Some(size) = &options.size
        && !selected
            .iter()
            .any(|benchmark| benchmark.sizes.contains_key(size))
    {
        let mut known: Vec<_> = selected
            .iter()
            .flat_map(|benchmark| benchmark.sizes.keys().cloned())
            .collect();
        known.sort();
        known.dedup();
        return usage(format!(
            "failed to select the size `{size}`: no selected benchmark has it; there are {}",
            known.join(", ")
        ));
    }
    Ok(selected)
}

/// Runs prepared benchmarks and writes the results.
///
/// # Errors
/// The result folder cannot be written. Benchmarks that fail are in the summary, not here.
pub fn run_prepared(
    suite: &Suite,
    prepared: Vec<Prepared<'_>>,
    options: &SuiteOptions,
    identity: &BuildIdentity,
    reporter: &Reporter,
) -> Result<(RunSummary, RunFolder), Failure> {
    let folder = RunFolder::create(&options.out, &suite.name)?;
    let mut summary = RunSummary {
        schema_version: SCHEMA_VERSION,
        tool: format!("superstep {}", env!("CARGO_PKG_VERSION")),
        suite: suite.name.clone(),
        size: options
            .size
            .clone()
            .unwrap_or_else(|| suite.default_size.clone()),
        backend: options.build.backend.to_string(),
        started: now(),
        command: options.command.clone(),
        host: host(),
        ..RunSummary::default()
    };
    reporter.message(
        "run-started",
        json!({ "suite": suite.name, "folder": folder.path(), "benchmarks": prepared.len() }),
    );
    for (number, item) in prepared.iter().enumerate() {
        let benchmark = item.benchmark;
        reporter.doing(format!(
            "[{}/{}] {}",
            number + 1,
            prepared.len(),
            benchmark.name
        ));
        reporter.message("benchmark-started", json!({ "benchmark": benchmark.name }));
        let result = if interrupt::requested() {
            skipped(
                benchmark,
                Failure::new(
                    FailureKind::Interrupted,
                    "the run was interrupted before this benchmark",
                ),
            )
        } else {
            match &item.executables {
                Err(failure) => failed(benchmark, failure.clone()),
                Ok(executables) => match benchmark.sizes.get(&summary.size) {
                    None => skipped(
                        benchmark,
                        Failure::new(
                            FailureKind::Usage,
                            format!("it has no size `{}`", summary.size),
                        ),
                    ),
                    Some(size) => {
                        let case = Case {
                            suite,
                            benchmark,
                            size,
                            options,
                        };
                        let (result, device) =
                            benchmark::run(&case, executables, identity, &folder, reporter);
                        if let Some(device) = device {
                            summary.device = device;
                        }
                        result
                    }
                },
            }
        };
        report_benchmark(&result, reporter);
        summary.benchmarks.push(BenchmarkSummary {
            backend: summary.backend.clone(),
            size: summary.size.clone(),
            ..result
        });
        summary.finished = now();
        folder.write_summary(&summary)?;
    }
    reporter.doing("drawing figures and the report");
    if let Err(failure) = redraw(&folder, &summary) {
        reporter.line(&format!("warning: {failure}"));
        reporter.message("warning", json!({ "message": failure.message }));
    }
    reporter.finish();
    reporter.message(
        "run-finished",
        json!({ "folder": folder.path(), "summary": summary }),
    );
    Ok((summary, folder))
}

/// The golden file of a benchmark at a size.
pub fn golden_file(golden: &Path, suite: &str, benchmark: &str, size: &str) -> std::path::PathBuf {
    golden.join(suite).join(format!("{benchmark}.{size}.json"))
}

fn report_benchmark(result: &BenchmarkSummary, reporter: &Reporter) {
    reporter.message(
        "benchmark-finished",
        json!({ "benchmark": result.name, "result": result }),
    );
    let status = result.status.as_str();
    match &result.failure {
        Some(failure) => reporter.line(&format!(
            "{}: {status} ({})\n  {}",
            result.name,
            failure.kind,
            failure.message.replace('\n', "\n  ")
        )),
        None => reporter.line(&format!("{}: {status}", result.name)),
    }
}

/// The record of a benchmark that failed.
fn failed(benchmark: &Benchmark, failure: Failure) -> BenchmarkSummary {
    BenchmarkSummary {
        name: benchmark.name.clone(),
        title: benchmark.title.clone(),
        status: Status::Failed,
        failure: Some(superstep_analysis::run_summary::Failure {
            kind: failure.kind.word().to_owned(),
            message: failure.message,
        }),
        deterministic: benchmark.deterministic.is_deterministic(),
        ..BenchmarkSummary::default()
    }
}

fn skipped(benchmark: &Benchmark, reason: Failure) -> BenchmarkSummary {
    BenchmarkSummary {
        status: Status::Skipped,
        ..failed(benchmark, reason)
    }
}

fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
