//! `superstep nvcc`: compiles as `nvcc` would with the same arguments.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use superstep_build::failure::Failure;
use superstep_build::nvcc::{self, Nvcc};

use super::Tools;

pub fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let arguments = arguments.map(|word| word.to_string_lossy().into_owned());
    let failed = |failure: Failure| nvcc::Failure::Failed(format!("error: {failure}"));
    let done = Tools::find().map_err(failed).and_then(|tools| {
        let toolkit = match std::env::var_os(nvcc::TOOLKIT_VARIABLE) {
            Some(root) => root.into(),
            None => tools.toolkit().map_err(failed)?.root,
        };
        let nvcc = Nvcc {
            toolkit,
            toolchain: tools.toolchain.clone(),
        };
        nvcc::run(&nvcc, arguments.collect(), |options| {
            tools.builder(options).map_err(failed)
        })
    });
    report(done.as_deref().unwrap_or_default());
    match done {
        Ok(_) => 0,
        Err(failure) => {
            eprintln!("{failure}");
            1
        }
    }
}

/// Tells `superstep build` about a call.
fn report(files: &[PathBuf]) {
    let Some(path) = std::env::var_os(nvcc::REPORT_VARIABLE) else {
        return;
    };
    let lines = files.iter().map(|file| format!("{}\n", file.display()));
    let text = lines.collect::<String>() + "\n";
    // A missing report must not fail the build.
    let report = OpenOptions::new().append(true).open(path);
    let _ = report.and_then(|mut report| report.write_all(text.as_bytes()));
}
