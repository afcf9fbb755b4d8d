//! `cargo xtask setup`: finds or installs everything, and the same for every command that finds something missing.

use anyhow::{Context as _, Result};
use superstep_toolchain::{CudaOrigin, Toolchain};

use crate::context::Context;

pub fn run(_context: &Context) -> Result<()> {
    let toolchain = install()?;
    let origin = match toolchain.cuda.origin {
        CudaOrigin::Toolkit => "installed toolkit",
        CudaOrigin::Wheels => "pinned wheels",
    };
    eprintln!(
        "Clang and LLVM {} in {}",
        toolchain.llvm.version,
        toolchain.llvm.prefix.display()
    );
    eprintln!(
        "CUDA {} ({origin}) in {}",
        toolchain.cuda.version,
        toolchain.cuda.root.display()
    );
    eprintln!("all set; `cargo xtask suite thesis` runs the main job");
    Ok(())
}

/// The toolchain as it is, or set up first.
pub fn ensure() -> Result<Toolchain> {
    match Toolchain::locate() {
        Ok(toolchain) => Ok(toolchain),
        Err(missing) => {
            eprintln!("xtask: setting this machine up, since something is missing:");
            for tool in &missing.tools {
                eprintln!("xtask:   {}: {}", tool.name, tool.why);
            }
            install()
        }
    }
}

fn install() -> Result<Toolchain> {
    Toolchain::install(&mut |step| eprintln!("xtask: {step}"))
        .context("failed to set this machine up")
}
