//! `superstep env`: prints the variables that `build` sets for a build system.

use superstep_build::compile::quote;
use superstep_build::exit_code;
use superstep_build::failure::Failure;

use super::Tools;
use crate::terminal::print;

/// Prints the variables by which build systems find Superstep's compiler, for `eval "$(superstep env)"`.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: &Args) -> Result<i32, Failure> {
    let variables = Tools::find()?.toolkit()?.variables();
    print(|out| {
        for (name, value) in variables {
            writeln!(out, "export {name}={}", quote(&value.to_string_lossy()))?;
        }
        Ok(())
    })?;
    Ok(exit_code::OK)
}
