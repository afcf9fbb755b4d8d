//! `superstep nvcc`: compiles as `nvcc` would with the same arguments.

use std::ffi::OsString;

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
            arch: nvcc::arch_wanted(),
            version: tools.toolchain.cuda.version.to_string(),
            clangxx: tools.toolchain.llvm.tool("clang++"),
        };
        nvcc::run(&nvcc, arguments.collect(), |options| {
            tools.builder(options).map_err(failed)
        })
    });
    match done {
        Ok(()) => 0,
        Err(failure) => {
            eprintln!("{failure}");
            1
        }
    }
}
