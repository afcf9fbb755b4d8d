//! `superstep build`: starts a project's own build system, which then compiles with Superstep.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use superstep_build::failure::{Failure, FailureKind};
use superstep_build::nvcc::REPORT_VARIABLE;
use superstep_build::{exit_code, interrupt};
use tempfile::NamedTempFile;

use super::Tools;
use crate::results::counted;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Command that builds the project.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let toolkit = Tools::find()?.toolkit()?;
    let report = NamedTempFile::new().map_err(|error| Failure::internal("create a file", error))?;
    let (program, rest) = (args.command.split_first()).expect("clap requires a word");
    let status = Command::new(program)
        .args(rest)
        .envs(toolkit.variables())
        .env(REPORT_VARIABLE, report.path())
        .status();
    let status = status.map_err(|error| {
        let message = format!("failed to start {}: {error}", program.to_string_lossy());
        Failure::new(FailureKind::Usage, message)
    })?;
    if interrupt::requested() {
        return Ok(exit_code::INTERRUPTED);
    }
    let text = std::fs::read_to_string(report.path()).unwrap_or_default();
    if let Some(text) = describe(&text, &toolkit.root) {
        eprintln!("superstep: {text}");
    }
    Ok(status.code().unwrap_or(exit_code::BUILD))
}

/// Describes the number of CUDA files compiled and the next step, or why nvcc was not called.
fn describe(report: &str, toolkit: &Path) -> Option<String> {
    if report.is_empty() {
        return Some(format!(
            "the command did not call nvcc through PATH; unless the project was up to date, it uses a fixed path: try \
             `superstep build -- make NVCC=nvcc CUDA_HOME={}`",
            toolkit.display()
        ));
    }
    let files: BTreeSet<&str> = report.lines().filter(|line| !line.is_empty()).collect();
    let count = counted(files.len() as u64, "CUDA file");
    (!files.is_empty())
        .then(|| format!("{count} compiled; to trace the program: superstep run PROGRAM"))
}
