//! One file for each command; what several of them share is in `common` and `view`.

pub mod bundle;
pub mod cache;
pub mod common;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod dump;
pub mod explain;
pub mod export;
pub mod import;
pub mod info;
pub mod inject;
pub mod metrics;
pub mod probe;
pub mod program;
pub mod record;
pub mod report;
pub mod run_bundle;
pub mod running;
pub mod source;
pub mod suite;
pub mod verify;
pub mod view;

use std::process::ExitCode;

use superstep_build::failure::Failure;
use superstep_build::{exit_code, interrupt};

/// Prints a command's failure, and gives the exit code of the process.
pub fn exit(result: Result<i32, Failure>) -> ExitCode {
    let code = match result {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            // A command that Ctrl-C ended looks as if it had failed.
            if interrupt::requested() {
                exit_code::INTERRUPTED
            } else {
                failure.kind.exit_code()
            }
        }
    };
    ExitCode::from(u8::try_from(code).unwrap_or(exit_code::INTERNAL as u8))
}
