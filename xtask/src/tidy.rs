//! `cargo xtask tidy`: rules that rustfmt, clippy (clippy.toml) and cargo-deny (deny.toml) do not check.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use xshell::cmd;

use crate::context::Context;

/// Every crate, and the workspace crates on which it may depend, as in the code map in ARCHITECTURE.md. Tests may also
/// use `superstep-testing`, and `superstep-toolchain` to compile small programs.
const LAYERS: [(&str, &str); 17] = [
    ("superstep-trace", ""),
    ("superstep-abi", "trace"),
    ("superstep-instrument", "trace abi"),
    ("superstep-runtime-core", "trace abi"),
    ("superstep-cudart-cpu", "trace abi runtime-core"),
    ("superstep-cuda", "trace abi runtime-core"),
    ("superstep-table", ""),
    ("superstep-analysis", "trace table runtime-core"),
    ("superstep-testing", "trace analysis"),
    ("superstep-export", "trace table analysis"),
    ("superstep-report", "trace table analysis"),
    ("superstep-python", "trace table analysis export report"),
    ("superstep-toolchain", ""),
    ("superstep-build", "trace abi toolchain"),
    (
        "superstep-harness",
        "trace abi table analysis export report toolchain build",
    ),
    (
        "superstep-bench",
        "trace abi testing table analysis report build harness",
    ),
    ("xtask", "toolchain"),
];

/// Extended regular expressions that no line of text may match, each with a message.
const FORBIDDEN: [(&str, &str); 3] = [
    (
        r"\b(TODO|FIXME)\b",
        "unfinished work: finish it or file an issue",
    ),
    (
        r"(^|[^[:alnum:]._}~>$/-])/(home|work|tmp/w)/",
        "paths that exist only on one machine",
    ),
    (
        r"(allow|expect)\(clippy::undocumented_unsafe_blocks",
        "write the SAFETY comment",
    ),
];

/// Checks every file, including uncommitted ones.
pub fn run(context: &Context) -> Result<()> {
    let shell = &context.shell;
    let mut findings = layers(&context.metadata(&["--no-deps"])?);
    for (pattern, what) in FORBIDDEN {
        let matches = cmd!(shell, "git grep --untracked -nI -E -e {pattern}")
            .args(["--", ":!*.lock", ":!xtask/src/tidy.rs"])
            .quiet()
            .ignore_status()
            .read()
            .context("failed to search the repository's files; tidy needs git")?;
        findings.extend(matches.lines().map(|line| format!("{line}: {what}")));
    }
    let sources = cmd!(
        shell,
        "git ls-files --cached --others --exclude-standard *.rs"
    );
    for name in sources.quiet().read()?.lines() {
        // A deleted file has no content.
        let text = shell.read_file(name).ok();
        if text.is_some_and(|text| !text.starts_with("//!")) {
            findings.push(format!("{name}: start with `//!` and the module's purpose"));
        }
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    let count = findings.len();
    ensure!(
        count == 0,
        "the repository is not tidy: {count} finding(s) above"
    );
    Ok(())
}

/// Checks dependencies against the layers, and the lints of every member.
fn layers(metadata: &Value) -> Vec<String> {
    let mut findings = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = LAYERS.iter().find(|(member, _)| *member == name) else {
            findings.push(format!("{name} is not in LAYERS of xtask/src/tidy.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"] == "dev"
                && ["superstep-testing", "superstep-toolchain"].contains(&target);
            let is_allowed =
                |crate_name: &str| for_tests || allowed.split(' ').any(|name| name == crate_name);
            if (target.strip_prefix("superstep-")).is_some_and(|it| !is_allowed(it)) {
                findings.push(format!("{name} must not depend on {target}"));
            }
        }
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let manifest = std::fs::read_to_string(manifest).unwrap_or_default();
        if !manifest.contains("[lints]\nworkspace = true\n") {
            findings.push(format!("{name} needs `[lints]` with `workspace = true`"));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
