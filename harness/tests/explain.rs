//! Runs `superstep explain` on a program with every kind of address, and checks its error messages.

mod common;

use std::fs;

use common::{DOUBLE, root, run, superstep, write_suite};
use serde_json::Value;

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn each_operation_of_the_pointers_program_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("suites/features/pointers/pointers.cu");
    let (code, out, err) = run(superstep(folder.path()).arg("explain").arg(&source));
    assert_eq!(code, 0, "{err}");
    insta::assert_snapshot!("explain_pointers", out);

    let (code, out, err) = run(superstep(folder.path())
        .args(["explain", "--json", "--kernel", "shi*"])
        .arg(&source));
    assert_eq!(code, 0, "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let operations = json["operations"].as_array().unwrap();
    assert_eq!(json["summary"]["operations"], operations.len());
    assert!(
        operations.iter().all(|o| o["function"] == "shift"
            && o["space"] == "global"
            && o["decision"] == "proven"),
        "{out}"
    );
    let ops: Vec<&str> = operations.iter().filter_map(|o| o["op"].as_str()).collect();
    assert_eq!(ops, ["store", "load"], "by column");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_thesis_program_is_explained_as_text_and_as_json() {
    assert_explanations("explain_path", &["suites/thesis/path/path.cu"]);
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn copies_of_a_function_show_how_they_are_called() {
    assert_explanations(
        "explain_linked",
        &[
            "--flag=-rdc=true",
            "suites/features/linked/main.cu",
            "suites/features/linked/rows.cu",
            "suites/features/linked/tables.cu",
        ],
    );
}

/// Compares the text and JSON output of `superstep explain` with snapshots.
fn assert_explanations(name: &str, args: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let explain = |format: &[&str]| {
        let mut command = superstep(folder.path());
        command.current_dir(root()).arg("explain").args(format);
        let (code, out, err) = run(command.args(args));
        assert_eq!(code, 0, "{err}");
        out
    };
    insta::assert_snapshot!(name, explain(&[]));
    insta::assert_snapshot!(format!("{name}_json"), explain(&["--json"]));
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn opaque_ptx_is_accepted_on_request_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let opaque = "__global__ void f(int *p) { asm volatile(\"frobnicate.global [%0];\" :: \"l\"(p)); *p = 1; }\n";
    fs::write(folder.path().join("opaque.cu"), opaque).unwrap();
    let (code, out, err) = run(superstep(folder.path()).args(["explain", "opaque.cu"]));
    assert_eq!((code, out.as_str()), (6, ""), "{err}");
    assert!(
        err.contains("opaque.cu:1:") && err.contains("--allow-opaque-asm"),
        "{err}"
    );
    let (code, out, err) =
        run(superstep(folder.path()).args(["explain", "opaque.cu", "--allow-opaque-asm"]));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("opaque inline PTX    1"), "{out}");
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn strict_names_the_line_of_an_unproven_address() {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("suites/features/pointers/pointers.cu");
    let (code, out, err) = run(superstep(folder.path())
        .args(["explain", "--strict"])
        .arg(&source));
    assert_eq!((code, out.as_str()), (6, ""), "{err}");
    assert!(
        err.contains("pointers.cu:") && err.contains("leave out --strict"),
        "{err}"
    );
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn a_suite_is_summarised() {
    let folder = tempfile::tempdir().unwrap();
    write_suite(folder.path(), "{in-tree: true}", "{args: []}", DOUBLE);
    let (code, out, err) =
        run(superstep(folder.path()).args(["explain", "--suite", "./suite", "--json"]));
    assert_eq!(code, 0, "{err}");
    let json: Value = serde_json::from_str(&out).unwrap();
    let program = &json["programs"][0];
    assert_eq!(program["program"], "toy");
    let summary = &program["summary"];
    assert_eq!(
        (
            &summary["operations"],
            &summary["global"],
            &summary["tested"]
        ),
        (&2.into(), &2.into(), &0.into()),
        "{out}"
    );
    let (code, out, err) = run(superstep(folder.path()).args(["explain", "--suite", "./suite"]));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("100.0 %"), "{out}");

    // A program that does not compile is reported and does not stop the others.
    fs::write(folder.path().join("suite/toy.cu"), "int main(").unwrap();
    let (code, out, err) = run(superstep(folder.path()).args(["explain", "--suite", "./suite"]));
    assert_eq!(code, 1, "{err}");
    assert!(out.contains("failed (build)"), "{out}");
    assert!(
        err.contains("error: toy: failed to build toy/toy.cu"),
        "{err}"
    );
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, err) = run(superstep(folder.path()).args(["explain", "none.cu"]));
    assert_eq!((code, out.as_str()), (4, ""), "{err}");
    assert!(
        err.starts_with("error: failed to read none.cu: ")
            && err.contains("give a path that exists"),
        "{err}"
    );
    let (code, _, err) = run(superstep(folder.path()).args(["explain", "."]));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("expected .cu"), "{err}");
}

#[test]
fn invalid_command_lines_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("toy.cu");
    fs::write(&source, DOUBLE).unwrap();
    let cases = [
        (&["explain"][..], "required"),
        (
            &["explain", "toy.cu", "--suite", "thesis"],
            "cannot be used with",
        ),
        (&["explain", "toy.cu", "--only", "x"], "cannot be used with"),
        (
            &["explain", "toy.cu", "--kernel", "regex:("],
            "a regular expression",
        ),
        (&["explain", "toy.cu", "--gpu-arch", "volta"], "sm_90"),
    ];
    for (args, expected) in cases {
        let (code, _, err) = run(superstep(folder.path()).args(args));
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(expected), "{args:?}: {err}");
    }
}

#[test]
#[ignore = "needs Clang and CUDA; `cargo xtask test` runs it"]
fn source_that_does_not_compile_shows_the_compilers_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("toy.cu"),
        DOUBLE.replace("float *numbers", "flaot *numbers"),
    )
    .unwrap();
    let (code, out, err) = run(superstep(folder.path()).args(["explain", "toy.cu"]));
    assert_eq!((code, out.as_str()), (6, ""), "{err}");
    let expected = [
        "error: failed to build toy/toy.cu: device IR failed with",
        "unknown type name 'flaot'",
    ];
    assert!(expected.iter().all(|part| err.contains(part)), "{err}");
    let (code, _, err) =
        run(superstep(folder.path()).args(["explain", "toy.cu", "--flag=-Dflaot=float"]));
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = run(superstep(folder.path()).args([
        "explain",
        "toy.cu",
        "--flag=-Dflaot=float",
        "--kernel",
        "other",
    ]));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("are twice"), "{err}");
}
