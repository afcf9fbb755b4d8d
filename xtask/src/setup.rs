//! `cargo xtask setup`: finds or installs everything, and the same for every command that finds something missing.

use anyhow::{Context as _, Result};
use superstep_toolchain::{CudaOrigin, Purpose, Survey, Toolchain};

pub fn run() -> Result<()> {
    let toolchain = install()?;
    let (llvm, cuda) = (&toolchain.llvm, &toolchain.cuda);
    let origin = match cuda.origin {
        CudaOrigin::Toolkit => "installed toolkit",
        CudaOrigin::Wheels => "pinned wheels",
    };
    let (prefix, root) = (llvm.prefix.display(), cuda.root.display());
    eprintln!("Clang and LLVM {} in {prefix}", llvm.version);
    eprintln!("CUDA {} ({origin}) in {root}", cuda.version);
    eprintln!("all set; `cargo xtask suite thesis` runs the main job");
    Ok(())
}

/// The toolchain as it is, or set up first.
pub fn ensure() -> Result<Toolchain> {
    match Survey::here(Purpose::Build).toolchain() {
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
    Toolchain::install(Purpose::Build, &mut |step| eprintln!("xtask: {step}"))
        .context("failed to set this machine up")
}
