//! `cargo xtask build`: everything that a run needs, optimised, side by side in the release folder.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use superstep_toolchain::Toolchain;

use crate::context::Context;
use crate::setup;

/// The packages whose artifacts `superstep` looks for next to itself: its own binary, the instrumenter (which only this
/// list builds, with LLVM's place in the environment) and the two runtimes.
const PACKAGES: [&str; 4] = [
    "superstep-harness",
    "superstep-instrument",
    "superstep-cudart-cpu",
    "superstep-cuda",
];

/// The command; returns the folder with the artifacts.
pub fn run(context: &Context) -> Result<PathBuf> {
    let toolchain = setup::ensure()?;
    with(context, &toolchain)
}

/// Builds with a toolchain that is already there.
pub fn with(context: &Context, toolchain: &Toolchain) -> Result<PathBuf> {
    let packages = PACKAGES.iter().flat_map(|package| ["-p", package]);
    context
        .cargo(toolchain)
        .args(["build", "--release"])
        .args(packages)
        .run()
        .context("failed to build Superstep; the compiler's message is above")?;
    context.release_dir()
}
