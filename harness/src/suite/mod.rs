//! Runs a whole suite: fetches and builds everything, then runs, verifies and analyses each benchmark in turn.
//!
//! Benchmarks are built in parallel but run one at a time, so that their times are meaningful. A failed benchmark is
//! recorded and does not stop the others. `run.json` is written after each benchmark, so that an interrupted run keeps
//! its results.

mod analyse;
mod benchmark;
mod execute;
mod joined;
mod more_runs;
mod options;
mod processes;
mod progress;
mod reference;

use std::path::{Path, PathBuf};

use serde_json::json;
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Status};

pub use analyse::{redraw, reproduction};
pub use execute::{Case, Kind, Run};
pub use options::{
    AnalysisOptions, Execution, ProgramChoice, Running, Selection, SuiteOptions, choose_target,
    local_gpu_arch, memory_limit,
};

use self::progress::Progress;
use self::reference::References;
use crate::results::{Reporter, RunFolder};
use crate::session::{BuildIdentity, Fetched, Prepared, Session};
use superstep_build::bail;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::interrupt;
use superstep_build::manifest::{Benchmark, Determinism, Suite};
use superstep_trace::{Backend, Protocol};

pub struct SuiteRun<'a> {
    pub session: &'a Session,
    pub fetched: &'a Fetched<'a>,
    pub options: &'a SuiteOptions,
    pub progress: Progress,
    identity: BuildIdentity,
    references: References,
}

impl<'a> SuiteRun<'a> {
    /// Starts a run of the programs in `fetched`, or resumes one.
    pub fn begin(
        session: &'a Session,
        fetched: &'a Fetched<'a>,
        options: &'a SuiteOptions,
    ) -> Result<Self, Failure> {
        if options.bless && session.build.protocol == Protocol::InSitu {
            bail!(
                Usage,
                "an in-situ run cannot be blessed: it has no digests; remove --in-situ or --bless"
            );
        }
        Ok(Self {
            session,
            fetched,
            options,
            progress: Progress::begin(fetched, options, &session.reporter)?,
            identity: session.identity()?,
            references: References::default(),
        })
    }

    /// Runs prepared benchmarks and writes their results, including failures.
    pub fn run(mut self, prepared: &[Prepared<'_>]) -> Result<(RunSummary, RunFolder), Failure> {
        let reporter = &self.session.reporter;
        reporter.message(
            "run-started",
            json!({ "suite": self.fetched.suite.name, "folder": self.progress.folder.path(), "benchmarks": prepared.len() }),
        );
        self.references = References::build(prepared, reporter)?;
        let mut stopped = false;
        for (number, item) in prepared.iter().enumerate() {
            let name = &item.benchmark.name;
            if interrupt::requested() && self.progress.has_previous(name) {
                stopped = true;
                continue;
            }
            reporter.doing(format!("[{}/{}] {name}", number + 1, prepared.len()));
            reporter.message("benchmark-started", json!({ "benchmark": name }));
            let result = BenchmarkSummary {
                backend: self.progress.summary.backend,
                size: self.progress.summary.size.clone(),
                ..self.run_one(item)?
            };
            let failure = result.failure.as_ref();
            stopped |= failure.is_some_and(|it| it.kind == FailureKind::Interrupted);
            self.progress.push(result.clone())?;
            report_benchmark(&result, reporter);
        }
        if !stopped {
            let _step = reporter.step("figures and report", None);
            match redraw(&self.progress.folder, &self.progress.summary) {
                Ok(()) => self.progress.folder.become_latest(),
                Err(_) if interrupt::requested_after_failure() => stopped = true,
                Err(failure) => {
                    reporter.line(&format!("warning: {failure}"));
                    reporter.message("warning", json!({ "message": failure.message }));
                }
            }
        }
        let (summary, folder) = self.progress.end(!stopped)?;
        reporter.finish();
        reporter.message(
            "run-finished",
            json!({ "folder": folder.path(), "summary": summary }),
        );
        Ok((summary, folder))
    }

    /// Returns the result of one benchmark, either from the interrupted run or by running it.
    fn run_one(&mut self, item: &Prepared<'_>) -> Result<BenchmarkSummary, Failure> {
        let benchmark = item.benchmark;
        if interrupt::requested() {
            let why = "the run was interrupted before this benchmark";
            let interrupted = Failure::new(FailureKind::Interrupted, why);
            return Ok(not_run(benchmark, Status::Skipped, interrupted));
        }
        let executables = match &item.executables {
            Ok(executables) => executables,
            Err(failure) => return Ok(not_run(benchmark, Status::Failed, failure.clone())),
        };
        let case = match self.fetched.case(item, &self.options.execution) {
            Ok(case) => case,
            Err(failure) => return Ok(not_run(benchmark, Status::Skipped, failure)),
        };
        let (running, in_situ) = (&self.options.running, self.session.verify_in_situ);
        let fingerprint = progress::fingerprint(&case, running, in_situ, executables)?;
        if let Some(previous) = (self.progress).take_previous(&benchmark.name, &fingerprint) {
            return Ok(previous);
        }
        let mut earlier_attempts = Vec::new();
        loop {
            self.progress.clear(&benchmark.name)?;
            let (result, device) = benchmark::run(self, &case, executables);
            if let Some(device) = device {
                self.progress.summary.device = device;
            }
            // Stopping a program can also make its files unreadable.
            if result.failure.is_some() && interrupt::requested_after_failure() {
                let why = "the run was interrupted during this benchmark";
                let interrupted = Failure::new(FailureKind::Interrupted, why);
                return Ok(not_run(benchmark, Status::Skipped, interrupted));
            }
            if let Some(failure) = &result.failure
                && RETRYABLE.contains(&failure.kind)
                && earlier_attempts.len() < self.options.running.retry as usize
            {
                self.session.reporter.line(&format!(
                    "{}: attempt {} failed ({}); trying again\n  {}",
                    benchmark.name,
                    earlier_attempts.len() + 1,
                    failure.kind,
                    failure.message.replace('\n', "\n  ")
                ));
                earlier_attempts.push(failure.clone());
                continue;
            }
            return Ok(BenchmarkSummary {
                earlier_attempts,
                ran: Some(fingerprint),
                ..result
            });
        }
    }
}

/// Failures after which another attempt might succeed. A wrong trace or output is not retried.
const RETRYABLE: [FailureKind; 3] = [FailureKind::Run, FailureKind::Memory, FailureKind::Timeout];

/// Returns the folder of a suite's golden results: `golden/<suite>` next to the `suites` folder that contains the
/// suite, as in the repository and in bundles; otherwise `golden` in the suite's folder.
pub fn golden_folder(suite: &Suite) -> PathBuf {
    let folder = suite.folder.canonicalize();
    let folder = folder.unwrap_or_else(|_| suite.folder.clone());
    let suites = (folder.parent()).filter(|it| it.file_name() == Some("suites".as_ref()));
    match suites.and_then(Path::parent) {
        Some(parent) => parent.join("golden").join(&suite.name),
        None => folder.join("golden"),
    }
}

/// Returns the golden file for a benchmark and size: the one for this backend if it exists, or else the common one.
pub fn golden_file(folder: &Path, benchmark: &str, size: &str, backend: Backend) -> PathBuf {
    let own = folder.join(format!("{benchmark}.{size}.{backend}.json"));
    if own.is_file() {
        return own;
    }
    folder.join(format!("{benchmark}.{size}.json"))
}

fn report_benchmark(result: &BenchmarkSummary, reporter: &Reporter) {
    reporter.message(
        "benchmark-finished",
        json!({ "benchmark": result.name, "result": result }),
    );
    let status = result.status.name();
    match &result.failure {
        Some(failure) => reporter.line(&format!(
            "{}: {status} ({})\n  {}",
            result.name,
            failure.kind,
            failure.message.replace('\n', "\n  ")
        )),
        None => reporter.note(&format!("{}: {status}", result.name)),
    }
}

/// Returns the result of a benchmark that did not run.
fn not_run(benchmark: &Benchmark, status: Status, failure: Failure) -> BenchmarkSummary {
    BenchmarkSummary {
        name: benchmark.name.clone(),
        title: benchmark.title.clone(),
        status,
        failure: Some(failure),
        deterministic: benchmark.deterministic == Determinism::Deterministic,
        ..BenchmarkSummary::default()
    }
}

/// Returns the current UTC time in RFC 3339 format.
pub fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests;
