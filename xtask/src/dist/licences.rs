//! Collects the licences of the libraries in the packed binaries, which every copy must include.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

use super::layout::copy;
use crate::context::Context;

const PREFIXES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// Copies the licences of all libraries listed in `sboms`, and those of Rust's and Zig's own libraries, into `folder`.
pub fn collect(context: &Context, sboms: &Path, zig: &Path, folder: &Path) -> Result<()> {
    let shell = &context.shell;
    let metadata = context.metadata(&[])?;
    let listed = listed(shell, sboms)?;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        // Packages without a source are members of the workspace.
        let name = format!("{}-{}", text("name"), text("version"));
        if package["source"].is_null() || !listed.contains(&name) {
            continue;
        }
        let source = Path::new(text("manifest_path"));
        let source = source.parent().unwrap_or(source);
        // Bundled C sources have their own licence, in a subfolder.
        for from in [source.to_owned(), source.join("zstd")] {
            licences(shell, &from, &folder.join(&name))?;
        }
    }
    let sysroot = cmd!(shell, "rustc --print sysroot").quiet().read()?;
    let rust = Path::new(&sysroot).join("share/doc/rust/COPYRIGHT-library.html");
    copy(shell, &rust, &folder.join("rust/COPYRIGHT-library.html"))?;
    licences(
        shell,
        &zig.join("lib/libunwind"),
        &folder.join("zig-libunwind"),
    )?;
    licences(shell, zig, &folder.join("zig"))
}

/// Returns the name and version of every component listed in the files in `sboms`.
fn listed(shell: &Shell, sboms: &Path) -> Result<BTreeSet<String>> {
    let mut listed = BTreeSet::new();
    for file in shell.read_dir(sboms)? {
        let sbom: Value = serde_json::from_str(&shell.read_file(&file)?)
            .with_context(|| format!("failed to read {}", file.display()))?;
        for component in sbom["components"].as_array().into_iter().flatten() {
            let text = |key: &str| component[key].as_str().unwrap_or_default();
            listed.insert(format!("{}-{}", text("name"), text("version")));
        }
    }
    Ok(listed)
}

/// Copies the licences in the folder `from`, if it exists.
fn licences(shell: &Shell, from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for file in shell.read_dir(from)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let upper = name.to_uppercase();
        if file.is_file() && PREFIXES.iter().any(|start| upper.starts_with(start)) {
            copy(shell, &file, &to.join(&*name))?;
        }
    }
    Ok(())
}
