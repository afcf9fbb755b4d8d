//! One run of one of a benchmark's three executables.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use superstep_report::run_summary::Same;

use super::Execution;
use super::options::default_memory_limit_bytes;
use crate::session::SourceHashes;
use crate::verify::RunFiles;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::inputs::{self, InputUsed};
use superstep_build::manifest::{Benchmark, Checks, Size, Suite};
use superstep_build::run::{self, End, OUTPUT_LIMIT_BYTES, RunOutcome, RunSpec, Summary};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As stock Clang builds it, without fused multiplications.
    Plain,
    /// Without probes and without fused multiplications, to compare with that.
    Unfused,
    /// Without probes.
    Native,
    Traced,
    /// Counts the accesses of each site.
    Counted,
    /// With a probe that a user defined.
    Probed,
}

impl Kind {
    /// Name of the run's folder, and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Unfused => "unfused",
            Kind::Native => "native",
            Kind::Traced => "traced",
            Kind::Counted => "counted",
            Kind::Probed => "probed",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Run {
    pub files: RunFiles,
    pub outcome: RunOutcome,
    /// What its runtime said, or why that is not known.
    pub summary: Result<Summary, String>,
    pub inputs: Vec<InputUsed>,
    stderr: PathBuf,
}

/// A program of a suite at one size.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub suite: &'a Suite,
    pub benchmark: &'a Benchmark,
    pub size: &'a Size,
    pub execution: &'a Execution,
    /// Hashes of its sources, for the capture's header.
    pub sources: &'a SourceHashes,
}

impl Case<'_> {
    /// What every run has in common.
    pub fn same(&self) -> Same {
        self.benchmark.deterministic.same(self.execution.backend)
    }

    /// What the outputs of two runs are compared by.
    pub fn output_checks(&self) -> Cow<'_, Checks> {
        let checks = &self.benchmark.checks;
        if self
            .benchmark
            .deterministic
            .results_differ(self.execution.backend)
        {
            Cow::Owned(Checks {
                output_files: Vec::new(),
                ..checks.clone()
            })
        } else {
            Cow::Borrowed(checks)
        }
    }

    /// Wall time of one run of the program: the command line's, else the manifest's.
    pub fn time_limit(&self) -> Duration {
        let manifest = Duration::from_secs(self.benchmark.timeout_s);
        self.execution.timeout.unwrap_or(manifest)
    }

    /// Resident memory of one run of the program: the command line's, else the manifest's, else most of the machine's.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        let manifest = self.benchmark.memory_limit_mib.map(|mib| mib << 20);
        self.execution
            .memory_limit_bytes
            .or(manifest)
            .or_else(default_memory_limit_bytes)
    }

    /// Runs `program` in `folder/<kind>/work`, with its inputs there and its outputs beside it.
    ///
    /// # Errors
    /// An input that cannot be had, a folder that cannot be written, a program that cannot be started. How the program ends is not an
    /// error here.
    pub fn execute(
        &self,
        kind: Kind,
        program: &Path,
        folder: &Path,
        capture: Option<&Path>,
    ) -> Result<Run, Failure> {
        let place = folder.join(kind.name());
        let work = place.join("work");
        fs::create_dir_all(&work).map_err(Failure::io("create", &work))?;
        let start = work.join(&self.benchmark.start_in);
        fs::create_dir_all(&start).map_err(Failure::io("create", &start))?;
        let inputs = inputs::materialise(self.suite, self.size, &self.execution.fetch, &work)?;
        let summary_path = place.join("summary.json");
        let mut environment: Vec<(String, OsString)> = self
            .execution
            .environment
            .iter()
            .map(|(name, value)| (name.clone(), value.into()))
            .collect();
        environment.push(("SUPERSTEP_SUMMARY".into(), summary_path.clone().into()));
        if let Some(capture) = capture {
            environment.push(("SUPERSTEP_CAPTURE".into(), capture.into()));
            let sources = serde_json::json!(self.sources).to_string();
            environment.push(("SUPERSTEP_SOURCES".into(), sources.into()));
        }
        let spec = RunSpec {
            program: program.to_owned(),
            name: self.benchmark.name.clone(),
            args: self.size.args.clone(),
            folder: start,
            environment,
            stdout: place.join("stdout"),
            stderr: place.join("stderr"),
            timeout: self.time_limit(),
            memory_limit_bytes: self.memory_limit_bytes(),
            output_limit_bytes: OUTPUT_LIMIT_BYTES,
        };
        let outcome =
            run::run(&spec).map_err(|error| Failure::new(FailureKind::Run, error.to_string()))?;
        write_outcome(&place.join("outcome.json"), &spec, &outcome)?;
        remove_inputs(&work, &inputs);
        Ok(Run {
            files: RunFiles {
                name: kind.name(),
                end: outcome.end,
                stdout: spec.stdout,
                work,
            },
            summary: Summary::read(&summary_path),
            outcome,
            inputs,
            stderr: spec.stderr,
        })
    }
}

impl Run {
    /// What the program wrote to standard error, without what our runtime says there.
    pub fn stderr_text(&self) -> String {
        let text = fs::read(&self.stderr)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        let own = |line: &&str| !line.starts_with("superstep: ");
        text.lines().filter(own).collect::<Vec<_>>().join("\n")
    }

    /// The failure of a program that did not end as the manifest expects; `None` when it did.
    pub fn failure(&self, case: &Case<'_>) -> Option<Failure> {
        let benchmark = case.benchmark;
        let (kind, what) = match self.files.end {
            End::Exited(code) if code == benchmark.checks.exit_code => return None,
            End::TimedOut => (
                FailureKind::Timeout,
                format!(
                    "did not end within {} s; allow more with --timeout",
                    case.time_limit().as_secs_f64()
                ),
            ),
            End::Interrupted => (FailureKind::Interrupted, "was interrupted".to_owned()),
            End::OutOfMemory => (
                FailureKind::Memory,
                format!(
                    "used more than {} MiB of memory; allow more with --program-memory",
                    case.memory_limit_bytes().unwrap_or(0) >> 20
                ),
            ),
            end @ End::Exited(_) => (
                FailureKind::Run,
                format!("{end}; {} was expected", benchmark.checks.exit_code),
            ),
            end @ End::Signalled(_) => (FailureKind::Run, end.to_string()),
        };
        let mut message = format!(
            "failed to run {} ({}): it {what}",
            benchmark.name, self.files.name
        );
        let faults = self
            .summary
            .as_ref()
            .map_or(&[][..], |summary| &summary.faults);
        for fault in faults {
            message.push_str("\n  ");
            message.push_str(fault);
        }
        let text = fs::read(&self.stderr)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        // The runtime prints its faults too.
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !faults.iter().any(|fault| line.contains(fault)))
            .collect();
        for line in &lines[lines.len().saturating_sub(12)..] {
            message.push_str("\n  stderr: ");
            message.push_str(line);
        }
        Some(Failure::new(kind, message))
    }
}

/// The record of one run, kept beside its outputs.
fn write_outcome(path: &Path, spec: &RunSpec, outcome: &RunOutcome) -> Result<(), Failure> {
    let (exit_code, signal) = match outcome.end {
        End::Exited(code) => (Some(code), None),
        End::Signalled(signal) => (None, Some(signal)),
        End::TimedOut | End::OutOfMemory | End::Interrupted => (None, None),
    };
    let record = json!({
        "schema_version": 1,
        "program": spec.program,
        "args": spec.args,
        "end": outcome.end.to_string(),
        "exit_code": exit_code,
        "signal": signal,
        "wall_s": outcome.wall.as_secs_f64(),
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "stdout_truncated": outcome.stdout_truncated,
        "stderr_truncated": outcome.stderr_truncated,
    });
    fs::write(path, format!("{record:#}\n")).map_err(Failure::io("write", &path))
}

/// Inputs can be large and are known by their hashes: they do not stay in the results.
fn remove_inputs(work: &Path, inputs: &[InputUsed]) {
    for input in inputs {
        // A program may have removed its input itself.
        let _ = fs::remove_file(work.join(&input.name));
    }
}
