//! Tests for `output`.

use super::*;
use regex::Regex;

fn run(folder: &Path, name: &'static str, stdout: &str, file: &str) -> RunFiles {
    let work = folder.join(name);
    fs::create_dir_all(&work).unwrap();
    let path = work.join("stdout");
    fs::write(&path, stdout).unwrap();
    fs::write(work.join("result.out"), file).unwrap();
    RunFiles {
        name,
        end: End::Exited(0),
        stdout: path,
        work,
        any_order: false,
    }
}

fn checks() -> Checks {
    Checks {
        stdout_contains: vec!["PASSED".into()],
        volatile_lines: vec![Regex::new("^time").unwrap()],
        output_files: vec!["result.out".into()],
        ..Checks::default()
    }
}

#[test]
fn only_volatile_lines_can_differ() {
    let folder = tempfile::tempdir().unwrap();
    let native = run(folder.path(), "native", "time 1\nPASSED\nx\n", "abc");
    let equal = run(folder.path(), "traced", "time 22\nPASSED\nx\n", "abc");
    assert!(outputs_equal(&native, &equal, &checks()).ok);
    let line = run(folder.path(), "traced", "time 22\nPASSED\ny\n", "abc");
    let check = outputs_equal(&native, &line, &checks());
    let is_named = check.detail.contains("line 2") && check.detail.contains("`y`");
    assert!(!check.ok && is_named, "{check:?}");
    let short = run(folder.path(), "traced", "PASSED\n", "abc");
    let check = outputs_equal(&native, &short, &checks());
    assert!(check.detail.contains("nothing more"));
}

#[test]
fn lines_from_multiple_processes_can_come_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name, stdout| RunFiles {
        any_order: true,
        ..run(folder.path(), name, stdout, "")
    };
    let native = run("native", "PASSED\na\nb\n");
    assert!(outputs_equal(&native, &run("traced", "b\nPASSED\na\n"), &checks()).ok);
    assert!(!outputs_equal(&native, &run("traced", "b\nPASSED\nb\n"), &checks()).ok);
}

#[test]
fn only_differences_between_untraced_runs_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name, stdout, file| run(folder.path(), name, stdout, file);
    let native = run("native", "a\n1\nPASSED\n", "abc");
    let again = run("again", "a\n2\nPASSED\n", "abc");
    let mut varying = OutputVariation::default();
    varying.add(&native, &native, &checks());
    let ok = |varying: &OutputVariation, stdout, file| {
        let other = run("traced", stdout, file);
        varying.outputs_equal(&native, &other, &checks()).ok
    };
    assert!(
        !ok(&varying, "a\n3\nPASSED\n", "abc"),
        "two equal runs show no variation"
    );
    varying.add(&native, &again, &checks());
    assert!(ok(&varying, "a\n3\nPASSED\n", "abc"));
    assert!(!ok(&varying, "b\n3\nPASSED\n", "abc"));
    assert!(!ok(&varying, "a\n3\nPASSED\nmore\n", "abc"));
    assert!(!ok(&varying, "a\n3\nPASSED\n", "abd"));
    let longer = run("longer", "a\n1\nPASSED\nmore\n", "xyz");
    varying.add(&native, &longer, &checks());
    assert!(ok(&varying, "a\n3\nPASSED\nother\nlines\n", "abd"));
    assert!(!ok(&varying, "b\n3\n", "abc"));
}

#[test]
fn output_files_are_compared_byte_by_byte() {
    let folder = tempfile::tempdir().unwrap();
    let native = run(folder.path(), "native", "", "abc");
    let detail = |file: &str| {
        outputs_equal(&native, &run(folder.path(), "traced", "", file), &checks()).detail
    };
    assert!(detail("abd").contains("byte is at 2"));
    assert!(detail("abcd").contains("ends after 3 bytes"));
    fs::remove_file(folder.path().join("traced/result.out")).unwrap();
    let missing = RunFiles {
        name: "traced",
        work: folder.path().join("traced"),
        ..native.clone()
    };
    let check = outputs_equal(&native, &missing, &checks());
    assert!(!check.ok, "a missing file is a difference");
}

#[test]
fn each_run_is_compared_with_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let good = run(folder.path(), "native", "PASSED\n", "");
    let results = check_manifest(&good, &checks());
    assert!(results.iter().all(|check| check.ok));
    let bad = RunFiles {
        end: End::Signalled(11),
        ..run(folder.path(), "native", "FAILED\n", "")
    };
    let results = check_manifest(&bad, &checks());
    assert!(results.iter().all(|check| !check.ok));
    assert!(results[0].detail.contains("SIGSEGV"), "{results:?}");
    assert!(results[1].detail.contains("`PASSED`"), "{results:?}");
}
