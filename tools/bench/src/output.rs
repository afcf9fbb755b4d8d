//! What several measurements need: a folder to work in, lines on the terminal, results as JSON.

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use superstep_build::failure::Failure;
use superstep_harness::write_json;

/// Who measured, how and when.
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

/// A folder that goes with the measurement.
pub fn scratch() -> Result<tempfile::TempDir, Failure> {
    tempfile::tempdir().map_err(|error| Failure::internal("make a folder", error))
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
