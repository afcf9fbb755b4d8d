//! `superstep build`: starts a project's own build system, which then compiles with Superstep.

use std::ffi::OsString;
use std::process::Command;

use superstep_build::failure::{Failure, FailureKind};
use superstep_build::{exit_code, interrupt};

use super::Tools;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Command that builds the project.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let variables = Tools::find()?.toolkit()?.variables();
    let Some((program, rest)) = args.command.split_first() else {
        return Ok(exit_code::USAGE);
    };
    let status = Command::new(program).args(rest).envs(variables).status();
    let status = status.map_err(|error| {
        let message = format!("failed to start {}: {error}", program.to_string_lossy());
        Failure::new(FailureKind::Usage, message)
    })?;
    if interrupt::requested() {
        return Ok(exit_code::INTERRUPTED);
    }
    Ok(status.code().unwrap_or(exit_code::BUILD))
}
