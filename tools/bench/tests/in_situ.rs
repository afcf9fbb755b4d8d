//! Runs the program of `superstep-bench in-situ` on the CPU backend with 2^20 accesses, and compares its sums with the
//! formula and its trace.

mod common;

use common::{binaries, run};

#[test]
fn sums_equal_the_formula_and_the_trace() {
    let Some([bench, superstep]) = binaries() else {
        return;
    };
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
    let out = run(&bench, folder.path(), &measure);
    assert!(out.contains("1048576 accesses in 4 launches"), "{out}");
    assert!(out.contains("48 transfers"), "{out}");
    assert!(out.contains("match the formula"), "{out}");
}
