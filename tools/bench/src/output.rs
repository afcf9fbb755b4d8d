//! Helpers of the measurements: a folder to work in, lines on the terminal, results as JSON.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use superstep_build::failure::{Failure, FailureKind};
use superstep_harness::write_json;

/// Version, command and time of a measurement.
#[derive(Debug, Serialize)]
pub struct Head {
    schema_version: u32,
    tool: String,
    command: Vec<String>,
    started: String,
}

impl Head {
    pub fn now() -> Self {
        Self {
            schema_version: 1,
            tool: tool(),
            command: std::env::args().collect(),
            started: jiff::Timestamp::now().to_string(),
        }
    }
}

pub fn tool() -> String {
    format!("superstep {}", env!("CARGO_PKG_VERSION"))
}

pub fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|error| Failure::internal("make a folder", error))
}

/// Runs a program and returns its standard output; the failure has all that it printed.
pub fn output_of(command: &mut Command) -> Result<String, Failure> {
    let program = Path::new(command.get_program()).to_owned();
    let output = command.output().map_err(Failure::io("run", &program))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let (program, status) = (program.display(), output.status);
    let message = format!("{program} failed ({status}): {stdout}{}", stderr.trim_end());
    Err(Failure::new(FailureKind::Run, message))
}

/// Prints a line at once: what is measured takes long.
pub fn say(text: std::fmt::Arguments<'_>) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Where the user asks for the results as JSON.
#[derive(Debug, clap::Args)]
pub struct JsonArgs {
    /// Also write everything as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl JsonArgs {
    pub fn write(&self, results: &impl Serialize) -> Result<(), Failure> {
        self.json
            .as_ref()
            .map_or(Ok(()), |path| write_json(path, results))
    }
}
