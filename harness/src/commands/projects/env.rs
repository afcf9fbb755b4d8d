//! `superstep env`: prints the variables that `build` sets for a build system.

use superstep_build::compile::quote;
use superstep_build::exit_code;
use superstep_build::failure::Failure;

use super::Tools;
use crate::terminal::print;

pub fn run() -> Result<i32, Failure> {
    let variables = Tools::find()?.toolkit()?.variables();
    print(|out| {
        for (name, value) in variables {
            writeln!(out, "export {name}={}", quote(&value.to_string_lossy()))?;
        }
        Ok(())
    })?;
    Ok(exit_code::OK)
}
