//! What an unpacked archive contains: the binaries in `bin`, and above them what `superstep` looks for in the repository
//! (`build/src/installation.rs`), in the same places.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use xshell::cmd;

use crate::context::Context;

/// What is built. `superstep` finds the others beside itself.
pub const BINARIES: [&str; 5] = [
    "superstep",
    "superstep-instrument",
    "superstep-parquet",
    "libsuperstep_cudart_cpu.so",
    "libsuperstep_cuda.so",
];

/// What is taken as it is: device code, headers, probes, suites with their golden results, and the documents.
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

/// Puts all of it into the folder `tree`, with the binaries from the folder `binaries`.
pub fn stage(context: &Context, binaries: &Path, tree: &Path) -> Result<()> {
    for name in BINARIES {
        copy(&binaries.join(name), &tree.join("bin").join(name))?;
    }
    // What lies beside the committed files belongs to nobody.
    let files = cmd!(context.shell, "git ls-files --").args(SHIPPED).quiet();
    let files = files.read().context("failed to list what is committed")?;
    for name in files.lines() {
        copy(&context.root.join(name), &tree.join(name))?;
    }
    Ok(())
}

/// Copies a file, into a folder that is made for it.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("failed to copy {} to {}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use superstep_toolchain::Toolchain;

    use super::*;

    /// The folder of this build's binaries and a toolchain; says why there is none, which `SUPERSTEP_REQUIRE_TOOLS=1` makes a
    /// failure.
    fn built() -> Option<(std::path::PathBuf, Toolchain)> {
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().and_then(Path::parent).unwrap();
        let absent = BINARIES.iter().find(|name| !folder.join(name).is_file());
        let reason = match (Toolchain::locate(), absent) {
            (Ok(tools), None) => return Some((folder.to_owned(), tools)),
            (Err(missing), _) => missing.to_string(),
            (Ok(_), Some(name)) => format!("{name} is not built; run `cargo xtask test`"),
        };
        assert!(
            std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_none_or(|value| value != "1"),
            "tools are required: {reason}"
        );
        eprintln!("skipped: {reason}");
        None
    }

    /// Both backends' code is compiled, a probe is inserted, a golden result compared and a table written as Parquet, all in a
    /// folder that is not the one which was packed.
    #[test]
    fn what_is_packed_runs_anywhere() {
        let Some((binaries, tools)) = built() else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let (packed, tree) = (folder.path().join("packed"), folder.path().join("moved"));
        stage(&Context::new().unwrap(), &binaries, &packed).unwrap();
        fs::rename(&packed, &tree).unwrap();
        for line in [
            "suite thesis --only path --size tiny --backend cpu --require-golden",
            "export --format parquet out/thesis/latest/benchmarks/path/capture -o tables",
            "probe branches thesis --only path --size tiny --backend cpu",
            "bundle thesis --only path --backend cuda --out bundle",
            "doctor",
        ] {
            let output = Command::new(tree.join("bin/superstep"))
                .args(line.split(' '))
                .current_dir(folder.path())
                .env_remove("SUPERSTEP_ROOT")
                .env("SUPERSTEP_CACHE", folder.path().join("cache"))
                .env("SUPERSTEP_CUDA", &tools.cuda.root)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "superstep {line}: {text}");
        }
        let table = folder.path().join("tables/launches.parquet");
        assert!(table.is_file(), "{}", table.display());
    }
}
