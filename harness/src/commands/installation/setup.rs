//! `superstep setup`: installs the tools that compile programs.

use superstep_build::failure::{Failure, FailureKind};
use superstep_toolchain::{Purpose, Toolchain};

use crate::terminal::print_lines;

pub fn run() -> Result<i32, Failure> {
    let mut progress = |step: &str| eprintln!("superstep: {step}");
    let tools = Toolchain::install(Purpose::Run, &mut progress)
        .map_err(|error| Failure::new(FailureKind::Tool, error.to_string()))?;
    let (llvm, cuda) = (&tools.llvm, &tools.cuda);
    let (clang, toolkit) = (llvm.prefix.display(), cuda.root.display());
    print_lines(&[
        format!("Clang and LLVM {} in {clang}", llvm.version),
        format!("CUDA {} in {toolkit}", cuda.version),
    ])
}
