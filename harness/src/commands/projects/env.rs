//! `superstep env`: prints the variables that `build` sets for a build system.

use std::ffi::OsString;

use superstep_build::compile::quote;
use superstep_build::failure::Failure;

use super::Tools;
use crate::terminal::print_lines;

pub fn run() -> Result<i32, Failure> {
    let variables = Tools::find()?.toolkit()?.variables();
    let line = |(name, value): (&str, OsString)| {
        let value = quote(&value.to_string_lossy());
        format!("export {name}={value}")
    };
    print_lines(&variables.into_iter().map(line).collect::<Vec<_>>())
}
