//! `superstep setup`: installs the tools that compile programs.

use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_toolchain::{Purpose, Toolchain};

use crate::terminal::print;

pub fn run() -> Result<i32, Failure> {
    let mut progress = |step: &str| eprintln!("superstep: {step}");
    let tools = Toolchain::install(Purpose::Run, &mut progress)
        .map_err(|error| Failure::new(FailureKind::Tool, error.to_string()))?;
    let (llvm, cuda) = (&tools.llvm, &tools.cuda);
    print(|out| {
        writeln!(
            out,
            "Clang and LLVM {} in {}",
            llvm.version,
            llvm.prefix.display()
        )?;
        writeln!(out, "CUDA {} in {}", cuda.version, cuda.root.display())
    })?;
    Ok(exit_code::OK)
}
