//! A whole suite: fetch and build everything, then run, verify and analyse one benchmark after the other.
//!
//! Benchmarks are built in parallel and run one at a time, so that their times mean something. A benchmark that fails is
//! recorded with the kind of its failure and the others go on; `run.json` is written after each, so that an interrupted
//! run leaves what it had.

mod again;
mod analyse;
mod benchmark;
mod execute;
mod options;
mod prepare;
mod progress;
mod repeat;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use superstep_report::RunSummary;
use superstep_report::run_summary::{BenchmarkSummary, Status};

pub use again::{with_density, with_link};
pub use analyse::redraw;
pub use execute::{Case, Kind, Run};
pub use options::{
    Resume, Running, Selection, SuiteOptions, Target, default_analysis_memory_bytes,
    default_memory_limit_bytes,
};
pub use prepare::{build_all, fetch_all, source_hashes};
pub use progress::Progress;

use crate::results::{Reporter, RunFolder};
use superstep_build::compile::Executables;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::interrupt;
use superstep_build::manifest::{Benchmark, Determinism, Suite};

/// A benchmark that is to run: its executables, or why it has none.
pub struct Prepared<'a> {
    /// The benchmark.
    pub benchmark: &'a Benchmark,
    /// Its executables.
    pub executables: Result<Executables, Failure>,
    /// SHA-256 of its source files by their paths inside the source.
    pub sources: SourceHashes,
}

/// SHA-256 of source files, hexadecimal, by their paths inside the source.
pub type SourceHashes = BTreeMap<String, String>;

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
        .filter(|benchmark| options.selection.takes(&benchmark.name, &suite.groups))
        .collect();
    let names = |benchmarks: &[Benchmark]| {
        benchmarks
            .iter()
            .map(|benchmark| benchmark.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    if selected.is_empty() {
        let groups = suite.groups.keys().map(|group| format!(", @{group}"));
        return usage(format!(
            "failed to select benchmarks: none matches --only and --exclude; the suite has {}{}",
            names(&suite.benchmarks),
            groups.collect::<String>()
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

/// Runs prepared benchmarks and writes the results into the folder of `progress`.
///
/// # Errors
/// The result folder cannot be written. Benchmarks that fail are in the summary, not here.
pub fn run_prepared(
    suite: &Suite,
    prepared: Vec<Prepared<'_>>,
    options: &SuiteOptions,
    identity: &BuildIdentity,
    reporter: &Reporter,
    mut progress: Progress,
) -> Result<(RunSummary, RunFolder), Failure> {
    reporter.message(
        "run-started",
        json!({ "suite": suite.name, "folder": progress.folder.path(), "benchmarks": prepared.len() }),
    );
    let mut stopped = false;
    for (number, item) in prepared.iter().enumerate() {
        let name = &item.benchmark.name;
        if interrupt::requested() && progress.has_kept(name) {
            stopped = true;
            continue;
        }
        reporter.doing(format!("[{}/{}] {name}", number + 1, prepared.len()));
        reporter.message("benchmark-started", json!({ "benchmark": name }));
        let result = one(suite, item, options, identity, reporter, &mut progress)?;
        stopped |= result
            .failure
            .as_ref()
            .is_some_and(|failure| failure.kind == FailureKind::Interrupted.word());
        // Whoever reads the message finds the result in `run.json`.
        progress.push(result.clone())?;
        report_benchmark(&result, reporter);
    }
    if !stopped {
        reporter.doing("drawing figures and the report");
        if let Err(failure) = redraw(&progress.folder, &progress.summary) {
            reporter.line(&format!("warning: {failure}"));
            reporter.message("warning", json!({ "message": failure.message }));
        }
    }
    let (summary, folder) = progress.end(!stopped)?;
    reporter.finish();
    reporter.message(
        "run-finished",
        json!({ "folder": folder.path(), "summary": summary }),
    );
    Ok((summary, folder))
}

/// The result of one benchmark: that of an earlier process, or that of its first attempt that does not fail.
fn one(
    suite: &Suite,
    item: &Prepared<'_>,
    options: &SuiteOptions,
    identity: &BuildIdentity,
    reporter: &Reporter,
    progress: &mut Progress,
) -> Result<BenchmarkSummary, Failure> {
    let benchmark = item.benchmark;
    let complete = |result: BenchmarkSummary, progress: &Progress| BenchmarkSummary {
        backend: progress.summary.backend.clone(),
        size: progress.summary.size.clone(),
        ..result
    };
    let interrupted = || {
        let why = "the run was interrupted before this benchmark";
        skipped(benchmark, Failure::new(FailureKind::Interrupted, why))
    };
    if interrupt::requested() {
        return Ok(complete(interrupted(), progress));
    }
    let executables = match &item.executables {
        Ok(executables) => executables,
        Err(failure) => return Ok(complete(failed(benchmark, failure.clone()), progress)),
    };
    let Some(size) = benchmark.sizes.get(&progress.summary.size) else {
        let why = format!("it has no size `{}`", progress.summary.size);
        let result = skipped(benchmark, Failure::new(FailureKind::Usage, why));
        return Ok(complete(result, progress));
    };
    let case = Case {
        suite,
        benchmark,
        size,
        options,
        sources: &item.sources,
    };
    let ran = progress::what_runs(&case, executables)?;
    if let Some(kept) = progress.take_kept(&benchmark.name, &ran) {
        return Ok(kept);
    }
    let mut earlier_attempts = Vec::new();
    loop {
        progress.clear(&benchmark.name)?;
        let (result, device) =
            benchmark::run(&case, executables, identity, &progress.folder, reporter);
        if let Some(device) = device {
            progress.summary.device = device;
        }
        if let Some(failure) = &result.failure
            && again(&failure.kind)
            && earlier_attempts.len() < options.running.retries as usize
            && !interrupt::requested()
        {
            reporter.line(&format!(
                "{}: attempt {} failed ({}), trying again\n  {}",
                benchmark.name,
                earlier_attempts.len() + 1,
                failure.kind,
                failure.message.replace('\n', "\n  ")
            ));
            earlier_attempts.push(failure.clone());
            continue;
        }
        let result = BenchmarkSummary {
            earlier_attempts,
            ran: Some(ran),
            ..result
        };
        return Ok(complete(result, progress));
    }
}

/// Whether another attempt may end differently: a wrong trace or output is never run away from.
fn again(kind: &str) -> bool {
    [FailureKind::Run, FailureKind::Memory, FailureKind::Timeout]
        .iter()
        .any(|transient| transient.word() == kind)
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
        failure: Some(superstep_report::run_summary::Failure {
            kind: failure.kind.word().to_owned(),
            message: failure.message,
        }),
        deterministic: benchmark.deterministic == Determinism::Deterministic,
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
