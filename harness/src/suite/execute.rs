//! Runs one variant of a benchmark.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use superstep_abi::{Config, variable};
use superstep_analysis::run_summary::Reproducibility;

use super::Execution;
use super::options::machine_bytes;
use super::processes::{self, Collected, EarlyEnd, ProcessRun};
use crate::results::write_json;
use crate::session::SourceHashes;
use crate::verify::{NoSummary, RunFiles, read_text};
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::inputs::{self, InputUsed};
use superstep_build::manifest::{Benchmark, Checks, Language, Size, Suite};
use superstep_build::run::{self, End, Kill, OUTPUT_LIMIT_BYTES, RunOutcome, RunSpec, Summary};
use superstep_trace::{Process, Protocol, named};

named! {
    pub enum Kind("run") {
        /// Built by nvcc, without fused multiply-adds.
        Nvcc => "nvcc",
        /// Built by Clang without fused multiply-adds, to compare with nvcc's build.
        Unfused => "unfused",
        Native => "native",
        Traced => "traced",
        /// Records accesses, to compare with an in-situ run.
        Recorded => "recorded",
        Counted => "counted",
        Probed => "probed",
    }
}

#[derive(Debug, Clone)]
pub struct Run {
    pub files: RunFiles,
    pub outcome: RunOutcome,
    /// The runtime's summary, summed over processes.
    pub summary: Result<Summary, NoSummary>,
    /// Processes that launched kernels, if more than one did.
    pub processes: Vec<ProcessRun>,
    pub early: Vec<EarlyEnd>,
    pub inputs: Vec<InputUsed>,
    stderr: PathBuf,
}

#[derive(Clone, Copy)]
pub struct Case<'a> {
    pub suite: &'a Suite,
    pub benchmark: &'a Benchmark,
    pub size: &'a Size,
    pub execution: &'a Execution,
    /// Hashes of the sources, recorded in the capture's header.
    pub sources: &'a SourceHashes,
}

impl Case<'_> {
    pub fn reproducibility(&self) -> Reproducibility {
        self.benchmark.deterministic.same(self.execution.backend)
    }

    pub fn output_checks(&self) -> Checks {
        let mut checks = self.benchmark.checks.clone();
        if (self.benchmark.deterministic).results_differ(self.execution.backend) {
            checks.output_files.clear();
        }
        checks
    }

    /// Returns the wall-time limit from the command line or, failing that, from the manifest.
    pub fn time_limit(&self) -> Duration {
        let manifest = Duration::from_secs(self.benchmark.timeout_s);
        self.execution.timeout.unwrap_or(manifest)
    }

    /// Returns the limit on resident memory from the command line, the manifest or, failing both, the default.
    pub fn memory_limit_bytes(&self) -> Option<u64> {
        let manifest = self.benchmark.memory_limit_mib.map(|mib| mib << 20);
        let configured = self.execution.memory_limit_bytes.or(manifest);
        configured.or_else(|| Some(machine_bytes()? / 10 * 9))
    }

    /// Runs `program` in `folder/<kind>/work`, which contains its inputs; its outputs are written next to that folder.
    /// A failing program is not an error here.
    pub fn execute(
        &self,
        kind: Kind,
        program: &Path,
        folder: &Path,
        capture: Option<&Path>,
    ) -> Result<Run, Failure> {
        let run_folder = folder.join(kind.name());
        let work = run_folder.join("work");
        let start = work.join(&self.benchmark.start_in);
        fs::create_dir_all(&start).map_err(Failure::io("create", &start))?;
        let inputs = inputs::materialise(self.suite, self.size, &self.execution.fetch, &work)?;
        let summaries = processes::summaries(&run_folder);
        fs::create_dir_all(&summaries).map_err(Failure::io("create", &summaries))?;
        let mut config = Config {
            summary: Some(summaries.join(Process::PLACE)),
            ..self.execution.config.clone()
        };
        if kind == Kind::Recorded {
            config.protocol = Some(Protocol::default());
        }
        if let Some(capture) = capture {
            config.capture = Some(capture.join(Process::PLACE));
            config.sources = self.sources.clone();
        }
        let mut environment = config.to_env();
        let mut units = self.benchmark.translation_units.iter();
        if units.all(|unit| unit.language != Language::Built) {
            environment.push((variable::NAME, (&self.benchmark.name).into()));
        }
        let kill = capture.zip(self.execution.kill_after);
        let spec = RunSpec {
            program: program.to_owned(),
            name: self.benchmark.name.clone(),
            args: self.size.args.clone(),
            folder: start,
            environment,
            stdout: run_folder.join("stdout"),
            stderr: run_folder.join("stderr"),
            timeout: self.time_limit(),
            memory_limit_bytes: self.memory_limit_bytes(),
            output_limit_bytes: OUTPUT_LIMIT_BYTES,
            kill: kill.map(|(capture, after)| Kill {
                file: capture.to_owned(),
                after,
            }),
        };
        let outcome =
            run::run(&spec).map_err(|error| Failure::new(FailureKind::Run, error.to_string()))?;
        write_json(&run_folder.join("outcome.json"), &record(&spec, &outcome))?;
        // Inputs can be large, and their hashes are recorded.
        for input in &inputs {
            // The program may have removed an input itself.
            let _ = fs::remove_file(work.join(&input.name));
        }
        let is_over = matches!(outcome.end, End::Exited(_));
        let collected = processes::collect(&run_folder, capture, self.execution.backend, is_over);
        let collected = match collected {
            // The files of a stopped program can be unreadable; the caller reports its end instead.
            Err(_) if !is_over => Collected {
                summary: Err(NoSummary::Program),
                processes: Vec::new(),
                early: Vec::new(),
            },
            collected => collected?,
        };
        Ok(Run {
            files: RunFiles {
                any_order: !collected.processes.is_empty(),
                name: kind.name(),
                end: outcome.end,
                stdout: spec.stdout,
                work,
            },
            summary: collected.summary,
            processes: collected.processes,
            early: collected.early,
            outcome,
            inputs,
            stderr: spec.stderr,
        })
    }
}

impl Run {
    pub fn wall_s(&self) -> f64 {
        self.outcome.wall.as_secs_f64()
    }

    /// Returns the kernel time in seconds, if the runtime measured it.
    pub fn kernel_s(&self) -> Option<f64> {
        let summary = self.summary.as_ref().ok()?;
        Some(summary.kernel_ns as f64 / 1e9)
    }

    /// Returns standard error without the runtime's lines.
    pub fn stderr_text(&self) -> String {
        let text = read_text(&self.stderr);
        let printed = |line: &&str| !line.starts_with("superstep: ");
        text.lines().filter(printed).collect::<Vec<_>>().join("\n")
    }

    /// Fails if the program did not exit as the manifest expects.
    pub fn check_end(&self, case: &Case<'_>) -> Result<(), Failure> {
        let benchmark = case.benchmark;
        let (kind, what) = match self.files.end {
            End::Exited(code) if code == benchmark.checks.exit_code => return Ok(()),
            End::TimedOut => {
                let limit = case.time_limit().as_secs_f64();
                let what = format!("did not finish within {limit} s; allow more with --timeout");
                (FailureKind::Timeout, what)
            }
            End::Interrupted => (FailureKind::Interrupted, "was interrupted".to_owned()),
            End::OutOfMemory => {
                let mib = case.memory_limit_bytes().unwrap_or(0) >> 20;
                let what =
                    format!("used more than {mib} MiB of memory; allow more with --program-memory");
                (FailureKind::Memory, what)
            }
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
        let summary = self.summary.as_ref();
        let faults = summary.map_or(&[][..], |summary| &summary.faults);
        for fault in faults {
            message.push_str(&format!("\n  {fault}"));
        }
        let text = read_text(&self.stderr);
        // The runtime also prints these faults.
        let is_fault = |line: &str| faults.iter().any(|fault| line.contains(fault));
        let lines: Vec<&str> = text.lines().filter(|line| !is_fault(line)).collect();
        for line in &lines[lines.len().saturating_sub(12)..] {
            message.push_str(&format!("\n  stderr: {line}"));
        }
        Err(Failure::new(kind, message))
    }
}

fn record(spec: &RunSpec, outcome: &RunOutcome) -> Value {
    let (exit_code, signal) = match outcome.end {
        End::Exited(code) => (Some(code), None),
        End::Signalled(signal) => (None, Some(signal)),
        End::TimedOut | End::OutOfMemory | End::Interrupted => (None, None),
    };
    json!({
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
    })
}
