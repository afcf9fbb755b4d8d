//! Tests that the packed files run in any folder.

use std::process::Command;

use superstep_toolchain::Toolchain;

use super::*;

/// Returns the folder with this build's binaries, and a toolchain. If either is missing, prints the reason; with
/// `SUPERSTEP_REQUIRE_TOOLS=1`, that is a failure.
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

/// Compiles code for both backends, inserts a probe, compares a golden result and writes a table as Parquet, all in a
/// folder other than the packed one.
#[test]
fn an_unpacked_archive_runs_in_any_folder() {
    let Some((binaries, tools)) = built() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (packed, tree) = (folder.path().join("packed"), folder.path().join("moved"));
    stage(&Context::new().unwrap(), &binaries, &packed).unwrap();
    std::fs::rename(&packed, &tree).unwrap();
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
