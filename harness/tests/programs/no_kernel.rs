//! Programs that launch no kernels: a run warns and passes, a benchmark fails, and their captures are readable.

use crate::common::{DOUBLE, run, superstep, unwrapped, write_suite};
use serde_json::Value;
use std::fs;
use std::path::Path;

const MESSAGE: &str = "the program launched no kernel: there is nothing to trace";

/// Returns the benchmark's record in the latest run of `name`.
fn record(folder: &Path, name: &str) -> Value {
    let path = folder.join(format!("out/{name}/latest/run.json"));
    let summary: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    summary["benchmarks"][0].clone()
}

/// Programs that have no device code, do not launch it, use CUDA only for memory, or exit without running handlers.
const PROGRAMS: [(&str, &str); 4] = [
    ("host.cpp", "int main() {}"),
    (
        "called.cu",
        "__global__ void none() {}\nint main(int n, char **) { if (n > 9) none<<<1, 1>>>(); }",
    ),
    (
        "memory.cu",
        "int main() { void *p; return cudaMalloc(&p, 64); }",
    ),
    (
        "early.cu",
        "#include <unistd.h>\nint main() { void *p; _exit(cudaMalloc(&p, 64)); }",
    ),
];

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_run_without_kernels_warns_and_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    let run_in = |words: &[&str]| run(superstep(folder.path()).args(words));
    for (file, program) in PROGRAMS {
        fs::write(folder.path().join(file), program).unwrap();
        let (code, out, err) = run_in(&["run", file, "--backend", "cpu"]);
        assert_eq!(code, 0, "{file}: {out}\n{err}");
        let name = file.split_once('.').unwrap().0;
        assert!(
            unwrapped(&out).contains(&format!("warning {MESSAGE}")),
            "{out}"
        );
        assert_eq!(record(folder.path(), name)["launches"], 0);

        let latest = format!("out/{name}/latest");
        let capture = format!("{latest}/benchmarks/{name}/capture");
        let (code, out, err) = run_in(&["info", &capture]);
        assert_eq!(code, 0, "{file}: {err}");
        assert!(out.contains("complete") && out.contains("the program launched no kernel"));
        for words in [
            &["report", &latest][..],
            &["compare", &latest, &latest],
            &["verify", &capture],
            &["dump", &capture],
            &["analyse", &capture, "--out", "tables"],
            &["export", &capture, "--format", "csv"],
            &["export", &capture, "--format", "memtrace-v1"],
        ] {
            let (code, _, err) = run_in(words);
            assert_eq!(code, 0, "{file}: {words:?}: {err}");
        }
    }
    for (words, warning) in [
        (
            &["run", "host.cpp", "--in-situ", "--verify-in-situ"][..],
            MESSAGE,
        ),
        (&["probe", "branches", "host.cpp"], "warning: host"),
    ] {
        let (code, out, err) = run_in(&[words, &["--backend", "cpu"]].concat());
        assert_eq!(code, 0, "{words:?}: {out}\n{err}");
        assert!(unwrapped(&out).contains(warning), "{words:?}: {out}");
    }
    let (code, _, err) = run_in(&["inject", "host.cpp", "--backend", "cpu"]);
    let is_reported = err.contains("the program launched no kernel");
    assert!(code != 0 && is_reported, "{err}");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_benchmark_that_launches_no_kernel_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let program = "int main() {}";
    let suite = write_suite(folder.path(), "{in-tree: true}", "{args: []}", program);
    let words = ["suite", "./suite", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 1, "{out}\n{err}");
    let failure = &record(folder.path(), "toys")["failure"];
    assert_eq!(failure["kind"], "verification", "{failure}");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains(MESSAGE), "{message}");

    // A manifest can expect zero launches.
    let manifest = fs::read_to_string(path("suite/toy.yaml")).unwrap();
    let expecting = format!("{manifest}expected:\n  tiny: {{launches: 0}}\n");
    fs::write(path("suite/toy.yaml"), &expecting).unwrap();
    let (code, out, err) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 0, "{out}\n{err}");
    assert!(!out.contains(MESSAGE), "{out}");
    fs::write(suite.join("toy.cu"), DOUBLE).unwrap();
    let (code, _, _) = run(superstep(folder.path()).args(words));
    assert_eq!(code, 1);
}
