//! The program of `superstep-bench in-situ` on the CPU backend, at 10^6 accesses: its sums are those of the formula and of its trace.

use std::path::Path;
use std::process::Command;

/// Runs a binary that lies beside the one under test, and returns what it printed.
fn run(binary: &Path, folder: &Path, arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
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

#[test]
fn sums_are_those_of_the_formula_and_of_the_trace() {
    let bench = Path::new(env!("CARGO_BIN_EXE_superstep-bench"));
    let superstep = bench.with_file_name("superstep");
    let parts = [
        "superstep",
        "superstep-instrument",
        "libsuperstep_cudart_cpu.so",
    ];
    let absent = (parts.iter()).find(|name| !bench.with_file_name(name).is_file());
    if absent.is_some() || superstep_toolchain::Toolchain::locate().is_err() {
        let required = std::env::var_os("SUPERSTEP_REQUIRE_TOOLS");
        assert!(required.is_none_or(|value| value != "1"), "{absent:?}");
        eprintln!("skipped: tools or {absent:?} are not here; run `cargo xtask test`");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let chosen = [
        "bench",
        "--only",
        "exchange",
        "--backend",
        "cpu",
        "--in-situ",
    ];
    let suite = [&["suite"], &chosen[..], &["--verify-in-situ"]].concat();
    run(&superstep, folder.path(), &suite);
    let bundle = [&["bundle"], &chosen[..], &["--out", "bundle"]].concat();
    run(&superstep, folder.path(), &bundle);
    let size = [
        "--words",
        "15",
        "--tile",
        "12",
        "--rounds",
        "2",
        "--launches",
        "4",
    ];
    let measure = [&["in-situ", "bundle"], &size[..]].concat();
    let out = run(bench, folder.path(), &measure);
    assert!(out.contains("1048576 accesses in 4 launches"), "{out}");
    assert!(out.contains("48 transfers"), "{out}");
    assert!(out.contains("are those of the formula"), "{out}");
}
