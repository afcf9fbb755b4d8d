//! `cargo xtask build`: everything that a run needs, optimised, side by side in the release folder.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use superstep_toolchain::Toolchain;

use crate::context::Context;
use crate::setup;

/// All that is built.
pub const ALL: &[&str] = &[
    "superstep-harness",
    "superstep-instrument",
    "superstep-cudart-cpu",
    "superstep-cuda",
    "superstep-bench",
    "superstep-parquet",
];

/// What `superstep` needs to run suites: its own binary, and what it looks for next to itself: the instrumenter (which only
/// this list builds, with LLVM's place in the environment) and the two runtimes. The rest takes long to compile.
pub const TO_RUN: &[&str] = ALL.split_at(4).0;

/// The command; returns the folder with the artifacts.
pub fn run(context: &Context, packages: &[&str]) -> Result<PathBuf> {
    let toolchain = setup::ensure()?;
    with(context, &toolchain, packages)
}

/// Builds with a toolchain that is already there.
pub fn with(context: &Context, toolchain: &Toolchain, packages: &[&str]) -> Result<PathBuf> {
    let packages = packages.iter().flat_map(|package| ["-p", package]);
    context
        .cargo(toolchain)
        .args(["build", "--release"])
        .args(packages)
        .run()
        .context("failed to build Superstep; the compiler's message is above")?;
    context.release_dir()
}
