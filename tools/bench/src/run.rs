//! Runs programs from a bundle.

use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use superstep_abi::Config;
use superstep_build::bail;
use superstep_build::compile::Executables;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::run::{End, OUTPUT_LIMIT_BYTES, RunSpec, run};
use superstep_harness::{Bundle, capture_failure};
use superstep_trace::Summary;

#[derive(Debug)]
pub struct RunOutput {
    pub end: End,
    pub stdout: String,
    pub stderr: String,
    pub seconds: f64,
}

/// Parses the JSON lines that a program printed.
pub fn figures<T: DeserializeOwned>(stdout: &str) -> Vec<T> {
    let lines = stdout.lines().filter(|line| line.starts_with('{'));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// Returns the executables of a program in a bundle of `suite`.
pub fn executables(bundle: &Bundle, suite: &str, program: &str) -> Result<Executables, Failure> {
    if !bundle.info.benchmarks.iter().any(|name| name == program) {
        bail!(
            Usage,
            "failed to find {program} in the bundle: pass a bundle of the suite {suite}"
        );
    }
    bundle.executables(program)
}

/// Specifies a run of `program` with these arguments in `folder`, recorded according to `config`.
pub fn spec(
    program: &Path,
    arguments: &[&dyn ToString],
    config: &Config,
    folder: &Path,
) -> RunSpec {
    RunSpec {
        program: program.to_owned(),
        name: program.display().to_string(),
        args: arguments
            .iter()
            .map(|argument| argument.to_string())
            .collect(),
        folder: folder.to_owned(),
        environment: config.to_env(),
        stdout: folder.join("stdout"),
        stderr: folder.join("stderr"),
        timeout: Duration::MAX,
        memory_limit_bytes: None,
        output_limit_bytes: OUTPUT_LIMIT_BYTES,
        kill: None,
    }
}

/// Runs a program that may fail.
pub fn start(spec: &RunSpec) -> Result<RunOutput, Failure> {
    let outcome = run(spec).map_err(|error| Failure::new(FailureKind::Run, error.to_string()))?;
    if outcome.end == End::Interrupted {
        bail!(Interrupted, "the measurement was interrupted");
    }
    let read = |path: &Path| -> Result<String, Failure> {
        let bytes = std::fs::read(path).map_err(Failure::io("read", &path))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(RunOutput {
        end: outcome.end,
        stdout: read(&spec.stdout)?,
        stderr: read(&spec.stderr)?,
        seconds: outcome.wall.as_secs_f64(),
    })
}

/// Runs a program that must succeed.
pub fn succeed(spec: &RunSpec) -> Result<RunOutput, Failure> {
    let output = start(spec)?;
    if output.end != End::Exited(0) {
        let text = output.stdout + output.stderr.trim_end();
        bail!(Run, "{} {}: {text}", spec.program.display(), output.end);
    }
    Ok(output)
}

pub fn summary(path: &Path) -> Result<Summary, Failure> {
    Summary::read(path).map_err(capture_failure)
}

pub fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|error| Failure::internal("create a folder", error))
}
