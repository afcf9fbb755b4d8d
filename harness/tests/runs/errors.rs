//! Errors before and during the build of a program have a clear message and a documented exit code.

use std::fs;

use crate::common::{DOUBLE, run, superstep, write_suite};

#[test]
fn a_malformed_manifest_is_shown_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let suite = write_suite(folder.path(), "{in-tree: true}", "{args: []}", DOUBLE);
    let path = suite.join("toy.yaml");
    fs::write(
        &path,
        fs::read_to_string(&path)
            .unwrap()
            .replace("title: Toy", "titel: Toy"),
    )
    .unwrap();
    let (code, out, err) = run(superstep(folder.path()).args(["suite", "./suite"]));
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(
        err.starts_with("error: failed to read manifest")
            && err.contains("toy.yaml:3:1")
            && err.contains("titel"),
        "{err}"
    );
}

#[test]
fn an_unknown_suite_is_an_unreadable_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, err) = run(superstep(folder.path()).args(["suite", "no-such-suite"]));
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("no-such-suite"), "{err}");
}

#[test]
fn a_misspelt_suite_or_probe_gets_a_suggestion() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, suggestion) in [
        (&["suite", "thesys"][..], "did you mean `thesis`?"),
        (&["probe", "branch", "thesis"], "did you mean `branches`?"),
        (&["probe", "branches", "rodina"], "did you mean `rodinia`?"),
    ] {
        let (code, _, err) = run(superstep(folder.path()).args(arguments));
        assert_ne!(code, 0);
        assert!(err.contains(suggestion), "{err}");
        assert!(!err.contains("injection"), "{err}");
    }
}

#[test]
fn suites_and_probes_are_listed_with_their_titles() {
    let folder = tempfile::tempdir().unwrap();
    let list = |command| {
        let (code, out, err) = run(superstep(folder.path()).args([command, "--list"]));
        assert_eq!(code, 0, "{err}");
        out
    };
    let (suites, probes) = (list("suite"), list("probe"));
    assert!(
        suites.contains("6 programs  Six programs of the thesis"),
        "{suites}"
    );
    assert!(
        probes.contains("branches            Directions of each"),
        "{probes}"
    );
    assert!(!probes.contains("injection"), "{probes}");
}

#[test]
fn a_missing_input_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let hash = "0".repeat(64);
    let size = format!(
        "{{args: [], inputs: [{{name: graph.txt, data: bfs/graph.txt, sha256: \"{hash}\"}}]}}"
    );
    write_suite(folder.path(), "{in-tree: true}", &size, DOUBLE);
    let (code, _, err) = run(superstep(folder.path()).args(["suite", "./suite", "--offline"]));
    assert_eq!(code, 4, "{err}");
    assert!(
        err.contains("graph.txt") && err.contains("--data-mirror"),
        "{err}"
    );
}

#[test]
fn an_input_with_a_wrong_hash_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let hash = "0".repeat(64);
    let size = format!(
        "{{args: [], inputs: [{{name: graph.txt, data: bfs/graph.txt, sha256: \"{hash}\"}}]}}"
    );
    write_suite(folder.path(), "{in-tree: true}", &size, DOUBLE);
    fs::create_dir_all(folder.path().join("data/bfs")).unwrap();
    fs::write(folder.path().join("data/bfs/graph.txt"), "other").unwrap();
    let (code, _, err) =
        run(superstep(folder.path()).args(["suite", "./suite", "--data-mirror", "data"]));
    assert_eq!(code, 4, "{err}");
    assert!(
        err.contains("SHA-256") && err.contains("it was not used"),
        "{err}"
    );
}

#[test]
fn an_unreachable_url_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // No process listens on port 9 (discard) of this machine.
    let source = format!(
        "{{git: {{url: \"http://127.0.0.1:9/none.git\", commit: {}}}}}",
        "a".repeat(40)
    );
    write_suite(folder.path(), &source, "{args: []}", DOUBLE);
    let (code, _, err) = run(superstep(folder.path()).args(["suite", "./suite"]));
    assert_eq!(code, 4, "{err}");
    assert!(
        err.contains("http://127.0.0.1:9/none.git") && err.contains("--source-mirror"),
        "{err}"
    );
}

#[test]
fn a_missing_tool_is_named_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(folder.path(), "{in-tree: true}", "{args: []}", DOUBLE);
    let (code, _, err) = run(superstep(folder.path())
        .args(["suite", "./suite"])
        .env("SUPERSTEP_LLVM", "/nonexistent"));
    assert_eq!(code, 5, "{err}");
    assert!(err.contains("clang++") && err.contains("to fix:"), "{err}");
    let (code, out, _) = run(superstep(folder.path())
        .arg("doctor")
        .env("SUPERSTEP_LLVM", "/nonexistent"));
    assert_eq!(code, 5);
    assert!(out.contains("MISSING clang++"), "{out}");
}

#[test]
fn invalid_command_lines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(folder.path(), "{in-tree: true}", "{args: []}", DOUBLE);
    let cases = [
        (&["suite"][..], "required"),
        (
            &["suite", "./suite", "--only", "other"],
            "the suite has toy",
        ),
        (
            &["suite", "./suite", "--size", "huge"],
            "the available sizes are tiny",
        ),
        (&["suite", "./suite", "--gpu-arch", "volta"], "sm_90"),
        (
            &["suite", "./suite", "--fail-on-warning=initialized-reads"],
            "similar value exists: 'initialised-reads'",
        ),
        (&["report", "nowhere"], "run.json"),
        (&["run-bundle", "."], "bundle.json"),
    ];
    for (args, expected) in cases {
        let (code, _, err) = run(superstep(folder.path()).args(args));
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
}

/// Clang would give host and device separate variables.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_managed_variable_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("__device__ __managed__ int counter;\n{DOUBLE}");
    write_suite(folder.path(), "{in-tree: true}", "{args: []}", &source);
    let (code, _, err) =
        run(superstep(folder.path()).args(["run", "suite/toy.cu", "--backend", "cpu"]));
    assert_eq!(code, 6, "{err}");
    let is_named = err.contains("toy.cu:1:12: error") && err.contains("use cudaMallocManaged");
    assert!(is_named, "{err}");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_source_that_does_not_compile_shows_the_compilers_error() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(
        folder.path(),
        "{in-tree: true}",
        "{args: []}",
        &DOUBLE.replace("float *numbers", "flaot *numbers"),
    );
    let (code, _, err) =
        run(superstep(folder.path()).args(["run", "suite/toy.cu", "--backend", "cpu"]));
    assert_eq!(code, 6, "{err}");
    let expected = [
        "error: failed to build toy/toy.cu: device IR failed with",
        "command: ",
        "unknown type name 'flaot'",
    ];
    assert!(expected.iter().all(|part| err.contains(part)), "{err}");
    // A suite records the error and exits with 1.
    let (code, out, err) = run(superstep(folder.path()).args([
        "suite",
        "./suite",
        "--backend",
        "cpu",
        "--message-format",
        "json",
    ]));
    assert_eq!(code, 1, "{err}");
    let reasons: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(
        reasons
            .iter()
            .all(|message| message["schema_version"] == 1 && message["reason"].is_string()),
        "{out}"
    );
    let last = reasons.last().unwrap();
    assert_eq!(
        (
            &last["reason"],
            &last["summary"]["benchmarks"][0]["failure"]["kind"]
        ),
        (&"run-finished".into(), &"build".into())
    );
}

#[test]
fn errors_in_a_probe_are_shown_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("p.cu"), "").unwrap();
    fs::write(folder.path().join("twice.cu"), DOUBLE).unwrap();
    let good = "schema: 1\nname: p\ntitle: P\nhandler: p.cu\nper: launch\nfields:\n  - {name: n}\npoints:\n  - {at: [block], call: f, pass: [fields]}\n";
    for (wrong, right, location, message) in [
        ("[block]", "[blok]", "p.yaml:9:", "`blok`"),
        (
            "[fields]",
            "[feilds]",
            "p.yaml:9:35",
            "expected one of `fields`",
        ),
        (
            "[fields]",
            "[address]",
            "p.yaml:9:35",
            "only load, store and atomic have it",
        ),
        ("[fields]", "[active-mask]", "p.yaml:9:35", "once-per: warp"),
        (
            "name: n",
            "name: 1n",
            "p.yaml:7:12",
            "not a valid name for a field",
        ),
        ("p.cu", "q.cu", "p.yaml:4:10", "not a file"),
        ("schema: 1", "schema: 2", "p.yaml:1:9", "schema: 1"),
        (
            "[block]",
            "[block, branch]",
            "p.yaml:9:10",
            "the same arguments",
        ),
    ] {
        let path = folder.path().join("p.yaml");
        fs::write(&path, good.replacen(wrong, right, 1)).unwrap();
        let (code, _, err) = run(superstep(folder.path()).args(["probe", "p.yaml", "twice.cu"]));
        assert_eq!(code, 3, "{right}: {err}");
        assert!(
            err.contains(location) && err.contains(message),
            "{right}: {err}"
        );
    }
    let (code, _, err) = run(superstep(folder.path()).args(["probe", "branch", "twice.cu"]));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("branches, cta-clocks"), "{err}");
}

/// A handler that does not compile is a build error that names the user's line.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_broken_handler_is_shown_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = "schema: 1\nname: p\ntitle: P\nhandler: p.cu\nper: launch\nfields:\n  - {name: n}\npoints:\n  - {at: [block], call: f, pass: [fields]}\n";
    fs::write(folder.path().join("p.yaml"), yaml).unwrap();
    fs::write(
        folder.path().join("p.cu"),
        "__device__ void f(Fields &fields) {\n  fields.m += 1;\n}\n",
    )
    .unwrap();
    fs::write(folder.path().join("twice.cu"), DOUBLE).unwrap();
    let arguments = ["probe", "p.yaml", "twice.cu", "--backend", "cpu"];
    let (code, _, err) = run(superstep(folder.path()).args(arguments));
    assert_eq!(code, 6, "{err}");
    assert!(err.contains("p.cu:2:10") && err.contains("'m'"), "{err}");
    // The handler's parameters differ from the values that its point passes.
    fs::write(
        folder.path().join("p.cu"),
        "__device__ void f(Fields &fields, unsigned width) {\n  fields.n += width;\n}\n",
    )
    .unwrap();
    let (code, _, err) = run(superstep(folder.path()).args(arguments));
    assert_eq!(code, 6, "{err}");
    let names = "p.yaml: point 1, pass: [fields]";
    assert!(err.contains(names) && err.contains("p.cu:1:17"), "{err}");
    assert!(!err.contains("warning"), "{err}");
    let per_warp = yaml.replace("call: f,", "call: f, once-per: warp,");
    fs::write(folder.path().join("p.yaml"), per_warp).unwrap();
    let (code, _, err) = run(superstep(folder.path()).args(arguments));
    assert_eq!(code, 6, "{err}");
    assert!(err.contains(names) && !err.contains("generated:"), "{err}");
}

/// A kernel that matches no pattern has no results; if no kernel matches, a warning says so.
#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_probe_without_matching_kernels_warns() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = "schema: 1\nname: p\ntitle: P\nhandler: p.cu\nkernels: [other]\nper: launch\nfields:\n  - {name: n}\npoints:\n  - {at: [block], call: f, pass: [fields]}\n";
    fs::write(folder.path().join("p.yaml"), yaml).unwrap();
    fs::write(
        folder.path().join("p.cu"),
        "__device__ void f(Fields &fields) { fields.n += 1; }\n",
    )
    .unwrap();
    fs::write(folder.path().join("twice.cu"), DOUBLE).unwrap();
    let arguments = ["probe", "p.yaml", "twice.cu", "--backend", "cpu"];
    let (code, out, err) = run(superstep(folder.path()).args(arguments));
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("warning: twice: nothing was measured") && out.contains("`kernels`"),
        "{out}"
    );
}

#[test]
fn in_situ_refuses_options_that_need_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(folder.path(), "{in-tree: true}", "{args: []}", DOUBLE);
    let suite = ["suite", "./suite", "--backend", "cpu"];
    for (options, word) in [
        (&["--in-situ", "--protocol", "stream"][..], "--protocol"),
        (&["--protocol", "in-situ"], "in-situ"),
        (&["--verify-in-situ"], "--in-situ"),
        (&["--in-situ", "--match", "exact-address"], "--match"),
        (&["--in-situ", "--bless"], "in-situ run cannot be blessed"),
    ] {
        let (code, out, err) = run(superstep(folder.path()).args(suite).args(options));
        assert_eq!((code, out.as_str()), (2, ""), "{options:?}: {err}");
        assert!(err.contains(word), "{options:?}: {err}");
    }
}
