//! Progress of a run: starts or resumes it, and writes `run.json` after each benchmark.
//!
//! `run.json` contains everything needed to resume a run, and is replaced atomically. The folder of a benchmark that
//! `run.json` does not list is incomplete and is removed before the benchmark runs again.

use std::fs;
use std::io;

use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, SCHEMA_VERSION, Status};

use super::{Case, Running, SuiteOptions, now};
use crate::results::{Reporter, RunFolder, host};
use crate::session::Fetched;
use superstep_build::bail;
use superstep_build::compile::{Executables, identity};
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::fetch::hash_bytes;

pub struct Progress {
    pub(super) folder: RunFolder,
    pub(super) summary: RunSummary,
    previous: Vec<BenchmarkSummary>,
}

impl Progress {
    pub fn begin(
        fetched: &Fetched<'_>,
        options: &SuiteOptions,
        reporter: &Reporter,
    ) -> Result<Self, Failure> {
        let suite = &fetched.suite.name;
        let fresh = RunSummary {
            schema_version: SCHEMA_VERSION,
            tool: format!("superstep {}", env!("CARGO_PKG_VERSION")),
            suite: suite.clone(),
            size: fetched.size.clone(),
            backend: options.execution.backend,
            started: now(),
            command: std::env::args().collect(),
            host: host(),
            matching: options.analysis.matching,
            planned: (fetched.benchmarks.iter())
                .map(|benchmark| benchmark.name.clone())
                .collect(),
            ..RunSummary::default()
        };
        let earlier = match &options.running.resume {
            None => None,
            Some(Some(folder)) => Some(Self::resume(RunFolder::open(folder), &fresh)?),
            Some(None) => match RunFolder::newest(&options.out, suite) {
                None => None,
                Some(folder) => {
                    let newest = folder.read_summary()?;
                    let is_open = !newest.complete && !newest.planned.is_empty();
                    is_open.then(|| Self::resume(folder, &fresh)).transpose()?
                }
            },
        };
        if let Some(progress) = earlier {
            reporter.line(&format!(
                "resuming {}: {} of {} benchmarks already have results",
                progress.folder.path().display(),
                progress.previous.len(),
                progress.summary.planned.len()
            ));
            return Ok(progress);
        }
        if options.running.resume == Some(None) {
            reporter.line("nothing to resume: the newest run is complete, or there is none; starting a new run");
        }
        let folder = RunFolder::create(&options.out, suite)?;
        folder.write_summary(&fresh)?;
        Ok(Self {
            folder,
            summary: fresh,
            previous: Vec::new(),
        })
    }

    /// Resumes the run in `folder`, which must have been started with the same options.
    fn resume(folder: RunFolder, current: &RunSummary) -> Result<Self, Failure> {
        let folder = folder.lock()?;
        let mut summary = folder.read_summary()?;
        let usage = |why: String| {
            bail!(
                Usage,
                "cannot resume {}: {why}; use the options it was started with, or start a new run without --resume",
                folder.path().display()
            )
        };
        if summary.complete {
            bail!(
                Usage,
                "{} is already complete; start a new run without --resume",
                folder.path().display()
            );
        }
        for (what, old, new) in [
            ("suite", &summary.suite, &current.suite),
            ("size", &summary.size, &current.size),
            (
                "backend",
                &summary.backend.to_string(),
                &current.backend.to_string(),
            ),
            ("version", &summary.tool, &current.tool),
        ] {
            if old != new {
                return usage(format!(
                    "its {what} is `{old}`, but this command's is `{new}`"
                ));
            }
        }
        if summary.matching != current.matching {
            return usage("it used a different --match".to_owned());
        }
        if summary.planned != current.planned {
            return usage(format!(
                "it was started for {}, but this command selects {}",
                summary.planned.join(", "),
                current.planned.join(", ")
            ));
        }
        let mut previous = std::mem::take(&mut summary.benchmarks);
        previous.retain(is_final);
        summary.resumed.push(now());
        let progress = Self {
            folder,
            summary,
            previous,
        };
        // Records the attempt even if the process is killed before its first result.
        progress.write()?;
        Ok(progress)
    }

    /// Removes the interrupted run's result, and returns it if it came from the program that would run now.
    pub(super) fn take_previous(&mut self, name: &str, hash: &str) -> Option<BenchmarkSummary> {
        let mut previous = self.previous.iter();
        let position = previous.position(|benchmark| benchmark.name == name)?;
        let benchmark = self.previous.swap_remove(position);
        (benchmark.ran.as_deref() == Some(hash)).then_some(benchmark)
    }

    /// Removes the results of an interrupted benchmark.
    pub(super) fn clear(&self, name: &str) -> Result<(), Failure> {
        for path in [self.folder.benchmark(name), self.folder.tables(name)] {
            match fs::remove_dir_all(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(Failure::io("remove", &path))?,
            }
        }
        Ok(())
    }

    /// Adds a result and writes `run.json`, with the interrupted run's results for later benchmarks.
    pub(super) fn push(&mut self, result: BenchmarkSummary) -> Result<(), Failure> {
        self.summary.benchmarks.push(result);
        self.summary.finished = now();
        self.write().map(drop)
    }

    /// Writes `run.json`, with the previous results, in the suite's order. Returns its contents.
    fn write(&self) -> Result<RunSummary, Failure> {
        let mut written = self.summary.clone();
        let planned = &self.summary.planned;
        let position = |name: &str| planned.iter().position(|planned| planned == name);
        written.benchmarks.extend(self.previous.iter().cloned());
        written.benchmarks.sort_by_key(|it| position(&it.name));
        self.folder.write_summary(&written)?;
        Ok(written)
    }

    pub(super) fn has_previous(&self, name: &str) -> bool {
        self.previous.iter().any(|benchmark| benchmark.name == name)
    }

    pub(super) fn end(mut self, complete: bool) -> Result<(RunSummary, RunFolder), Failure> {
        self.summary.complete = complete;
        self.summary.finished = now();
        Ok((self.write()?, self.folder))
    }
}

/// Returns whether another attempt would give the same result; false if the machine, the network or the user
/// caused a failure.
fn is_final(benchmark: &BenchmarkSummary) -> bool {
    const PROGRAM_FAILURES: [FailureKind; 6] = [
        FailureKind::Run,
        FailureKind::Memory,
        FailureKind::Timeout,
        FailureKind::Verification,
        FailureKind::Capture,
        FailureKind::Incomplete,
    ];
    match benchmark.status {
        Status::Passed => true,
        Status::Skipped => false,
        Status::Failed => (benchmark.failure.as_ref())
            .is_some_and(|failure| PROGRAM_FAILURES.contains(&failure.kind)),
    }
}

/// Returns the SHA-256 of everything that determines the result of `case`.
pub(super) fn fingerprint(
    case: &Case<'_>,
    running: &Running,
    verify_in_situ: bool,
    executables: &Executables,
) -> Result<String, Failure> {
    let mut text = String::new();
    for program in [
        &executables.native,
        &executables.traced,
        &executables.counted,
    ] {
        let identity = identity(program).map_err(Failure::io("read", &program))?;
        text.push_str(&format!("{identity}\n"));
    }
    let benchmark = case.benchmark;
    text.push_str(&format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{}\n",
        case.size,
        benchmark.checks,
        benchmark.expected,
        benchmark.deterministic,
        benchmark.start_in,
        case.execution.config.to_env(),
        running.repeat,
    ));
    if verify_in_situ {
        text.push_str("verify-in-situ\n");
    }
    if running.require_golden {
        text.push_str("require-golden\n");
    }
    Ok(hash_bytes(text.as_bytes()).to_string())
}

#[cfg(test)]
mod tests;
