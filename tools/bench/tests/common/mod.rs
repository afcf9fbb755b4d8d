//! Finds and runs the binaries next to the one under test, for end-to-end tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a binary in `folder`, and returns its output.
pub fn run(binary: &Path, folder: &Path, arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .current_dir(folder)
        .env("SUPERSTEP_ROOT", root.canonicalize().unwrap())
        .env("SUPERSTEP_CACHE", folder.join("cache"));
    if let Ok(tools) = superstep_toolchain::Toolchain::locate() {
        command.env("SUPERSTEP_CUDA", tools.cuda.root);
    }
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {out}{err}");
    out
}

/// Returns `superstep-bench` and `superstep`, or `None` to skip the test if tools or binaries for building programs are
/// missing.
pub fn binaries() -> Option<[PathBuf; 2]> {
    let bench = Path::new(env!("CARGO_BIN_EXE_superstep-bench"));
    let parts = [
        "superstep",
        "superstep-instrument",
        "libsuperstep_cudart_cpu.so",
    ];
    let absent = (parts.iter()).find(|name| !bench.with_file_name(name).is_file());
    if absent.is_some() || superstep_toolchain::Toolchain::locate().is_err() {
        let required = std::env::var_os("SUPERSTEP_REQUIRE_TOOLS");
        assert!(required.is_none_or(|value| value != "1"), "{absent:?}");
        eprintln!("skipped: tools or {absent:?} are missing; run `cargo xtask test`");
        return None;
    }
    Some([bench.to_owned(), bench.with_file_name("superstep")])
}
