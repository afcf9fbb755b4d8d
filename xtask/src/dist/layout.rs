//! Contents of an unpacked archive: the binaries in `bin`, and the files that `superstep` looks for in the repository
//! (`build/src/installation.rs`), at the same paths.

use std::path::Path;

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::context::Context;

/// Built files. `superstep` looks for the others in its own folder.
pub const BINARIES: [&str; 4] = [
    "superstep",
    "superstep-instrument",
    "libsuperstep_cudart_cpu.so",
    "libsuperstep_cuda.so",
];

/// Files that are copied: device code, headers, probes, suites with their golden results, and the documentation.
const SHIPPED: [&str; 11] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "docs",
    "golden",
    "harness/compatibility",
    "probes",
    "runtime/cpu/device",
    "runtime/cuda/device",
    "suites",
];

/// Copies all files into the folder `tree`. The binaries come from the folder `binaries`.
pub fn stage(context: &Context, binaries: &Path, tree: &Path) -> Result<()> {
    let shell = &context.shell;
    for name in BINARIES {
        copy(shell, &binaries.join(name), &tree.join("bin").join(name))?;
    }
    // Only committed files are copied.
    let files = cmd!(shell, "git ls-files --").args(SHIPPED).quiet();
    let files = files.read().context("failed to list the committed files")?;
    for name in files.lines() {
        copy(shell, Path::new(name), &tree.join(name))?;
    }
    Ok(())
}

pub fn copy(shell: &Shell, from: &Path, to: &Path) -> Result<()> {
    shell.create_dir(to.parent().unwrap_or(to))?;
    Ok(shell.copy_file(from, to)?)
}

#[cfg(test)]
mod tests;
