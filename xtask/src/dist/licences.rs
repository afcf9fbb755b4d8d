//! The licences of what the packed binaries are made of, as their authors ask for with every copy.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;
use xshell::cmd;

use super::layout::copy;
use crate::context::Context;

/// How the names of files begin that have a licence or belong to one.
const BEGINNINGS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];

/// Copies the licences of all libraries that the lists in `sboms` name, of Rust's own and of Zig's, into `folder`.
pub fn collect(context: &Context, sboms: &Path, zig: &Path, folder: &Path) -> Result<()> {
    let text = cmd!(context.shell, "cargo metadata --format-version 1 --locked")
        .quiet()
        .read()?;
    let metadata: Value =
        serde_json::from_str(&text).context("failed to read the output of cargo metadata")?;
    let listed = listed(sboms)?;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        // Packages without a source are members of the workspace.
        let name = format!("{}-{}", text("name"), text("version"));
        if package["source"].is_null() || !listed.contains(&name) {
            continue;
        }
        let source = Path::new(text("manifest_path"));
        let source = source.parent().unwrap_or(source);
        // C sources that a package brings along have their own, in a folder below.
        for from in [source.to_owned(), source.join("zstd")] {
            licences(&from, &folder.join(&name))?;
        }
    }
    let sysroot = cmd!(context.shell, "rustc --print sysroot")
        .quiet()
        .read()?;
    let rust = Path::new(&sysroot).join("share/doc/rust/COPYRIGHT-library.html");
    copy(&rust, &folder.join("rust/COPYRIGHT-library.html"))?;
    licences(&zig.join("lib/libunwind"), &folder.join("zig-libunwind"))?;
    licences(zig, &folder.join("zig"))
}

/// Name and version of everything in the lists of the folder.
fn listed(sboms: &Path) -> Result<BTreeSet<String>> {
    let mut listed = BTreeSet::new();
    for file in files(sboms)? {
        let text = fs::read_to_string(&file)
            .with_context(|| format!("failed to read {}", file.display()))?;
        let sbom: Value = serde_json::from_str(&text)
            .with_context(|| format!("failed to read {}", file.display()))?;
        for component in sbom["components"].as_array().into_iter().flatten() {
            let text = |key: &str| component[key].as_str().unwrap_or_default();
            listed.insert(format!("{}-{}", text("name"), text("version")));
        }
    }
    Ok(listed)
}

/// Copies the licences that lie in `from`, if there is such a folder.
fn licences(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for file in files(from)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let upper = name.to_uppercase();
        if file.is_file() && BEGINNINGS.iter().any(|start| upper.starts_with(start)) {
            copy(&file, &to.join(&*name))?;
        }
    }
    Ok(())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("failed to list {}", folder.display()))
}
