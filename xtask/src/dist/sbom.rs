//! Lists the libraries in each packed binary, with versions, hashes and licences, in the CycloneDX format.

use std::path::Path;

use anyhow::{Context as _, Result};
use xshell::cmd;

use super::commit_time;
use crate::checks::TARGET;
use crate::context::Context;

/// Files that cargo-cyclonedx writes next to the manifests of packed workspace members, and their names in the archive.
const PACKED: [(&str, &str); 5] = [
    ("harness/superstep_bin", "superstep"),
    (
        "instrument/superstep-instrument_bin",
        "superstep-instrument",
    ),
    (
        "runtime/cpu/superstep_cudart_cpu_cdylib-rlib",
        "libsuperstep_cudart_cpu",
    ),
    (
        "runtime/cuda/superstep_cuda_cdylib-rlib",
        "libsuperstep_cuda",
    ),
    ("python/superstep_cdylib", "superstep-python"),
];

const EXTENSION: &str = "cdx.json";

/// Writes a list for each packed binary, and for the Python module, into `folder`.
pub fn write(context: &Context, folder: &Path) -> Result<()> {
    let shell = &context.shell;
    context.ensure_cargo("cyclonedx", "0.5.9")?;
    let format = ["--format", "json", "--spec-version", "1.5"];
    let scope = ["--describe", "binaries", "--no-build-deps"];
    cmd!(
        shell,
        "cargo cyclonedx --quiet {format...} {scope...} --target {TARGET}"
    )
    .env("SOURCE_DATE_EPOCH", commit_time(context)?)
    .run()
    .context("failed to list the libraries in the binaries")?;
    // Members are identified by their paths on this machine.
    let root = format!("path+file://{}/", context.root.display());
    let mut lists = Vec::new();
    for (written, name) in PACKED {
        let text = shell.read_file(format!("{written}.{EXTENSION}"))?;
        lists.push((name, text.replace(&root, "")));
    }
    // `git clean` enters ignored folders too, and `folder` is in one, so the lists are written afterwards.
    let pattern = format!("*.{EXTENSION}");
    cmd!(shell, "git clean --quiet --force -x -- {pattern}")
        .run()
        .context("failed to remove the files that cargo-cyclonedx wrote")?;
    for (name, text) in lists {
        shell.write_file(folder.join(format!("{name}.{EXTENSION}")), text)?;
    }
    Ok(())
}
