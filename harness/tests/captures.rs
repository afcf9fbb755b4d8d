//! Runs the commands that read captures on synthetic captures.

mod common;

use std::fs;

use common::{run, superstep, superstep_alone, write_capture};

/// Replaces sizes and paths, which differ between versions and runs.
fn redacted(text: &str, folder: &std::path::Path) -> String {
    let text = text
        .replace(&folder.display().to_string(), "[folder]")
        .replace(env!("CARGO_PKG_VERSION"), "[version]");
    let sizes = regex::Regex::new(r"size          [0-9.]+ K?i?B")
        .unwrap()
        .replace_all(&text, "size          [size]")
        .into_owned();
    regex::Regex::new(r#"("stored_bytes": )\d+"#)
        .unwrap()
        .replace_all(&sizes, "$1\"[size]\"")
        .into_owned()
}

#[test]
fn info_shows_a_complete_capture() {
    let folder = tempfile::tempdir().unwrap();
    write_capture(&folder.path().join("capture"), true);
    let (code, out, err) = run(superstep(folder.path()).args(["info", "capture"]));
    assert_eq!((code, err.as_str()), (0, ""));
    insta::assert_snapshot!("info", redacted(&out, folder.path()));
    let (code, out, _) =
        run(superstep(folder.path()).args(["info", "capture/events.sst", "--json"]));
    assert_eq!(code, 0);
    insta::assert_snapshot!("info_json", redacted(&out, folder.path()));
}

#[test]
fn info_reports_that_a_killed_programs_capture_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    write_capture(&folder.path().join("capture"), false);
    let (code, out, err) = run(superstep(folder.path()).args(["info", "capture"]));
    assert_eq!(code, 9, "{out}{err}");
    assert!(out.starts_with("state         INCOMPLETE\n"), "{out}");
    assert!(out.contains("unfinished    1 of 2 launches"), "{out}");
    assert!(err.contains("the capture is incomplete"), "{err}");
}

#[test]
fn a_truncated_capture_is_read_up_to_its_last_complete_chunk() {
    let folder = tempfile::tempdir().unwrap();
    write_capture(&folder.path().join("capture"), true);
    let path = folder.path().join("capture/stream-0.sst");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let (code, out, err) = run(superstep(folder.path()).args(["info", "capture"]));
    assert_eq!(code, 9, "{out}{err}");
    assert!(out.contains("stream-0.sst is cut off"), "{out}");
}

#[test]
fn a_corrupted_capture_is_distinguished_from_an_incomplete_one() {
    let folder = tempfile::tempdir().unwrap();
    write_capture(&folder.path().join("capture"), true);
    let path = folder.path().join("capture/stream-0.sst");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&path, &bytes).unwrap();
    for command in [
        &["info", "capture"][..],
        &["dump", "capture"],
        &["export", "--format", "memtrace-v1", "capture", "-o", "x"],
    ] {
        let (code, _, err) = run(superstep(folder.path()).args(command));
        assert_eq!(code, 8, "{command:?}: {err}");
        assert!(
            err.starts_with("error: ") && err.contains("stream-0.sst"),
            "{command:?}: {err}"
        );
    }
}

#[test]
fn files_that_are_not_captures_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    for path in ["empty", "absent"] {
        let (code, _, err) = run(superstep(folder.path()).args(["info", path]));
        assert_eq!(code, 8, "{err}");
        assert!(err.starts_with("error: failed to open"), "{err}");
    }
    fs::write(folder.path().join("empty/events.sst"), "this is text").unwrap();
    let (code, _, err) = run(superstep(folder.path()).args(["info", "empty"]));
    assert_eq!(code, 8, "{err}");
}

#[test]
fn dump_lists_and_filters_accesses() {
    let folder = tempfile::tempdir().unwrap();
    write_capture(&folder.path().join("capture"), true);
    let dump = |args: &[&str]| {
        let (code, out, err) = run(superstep(folder.path())
            .args(["dump", "capture"])
            .args(args));
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
        out
    };
    insta::assert_snapshot!("dump", dump(&[]));
    insta::assert_snapshot!(
        "dump_json",
        dump(&["--json", "--launch", "1", "--cta", "1", "--limit", "2"])
    );
    assert_eq!(dump(&["--launch", "0..1"]), dump(&[]));
    assert_eq!(dump(&["--kernel", "tw*"]), dump(&[]));
    assert_eq!(dump(&["--kernel", "other"]), "");
    assert_eq!(
        dump(&["--limit", "1"]).lines().count(),
        2,
        "one launch and one group"
    );
}

#[test]
fn dump_filters_by_line_and_by_address() {
    let folder = tempfile::tempdir().unwrap();
    write_capture(&folder.path().join("capture"), true);
    let groups = |args: &[&str]| {
        let (code, out, err) = run(superstep(folder.path())
            .args(["dump", "capture", "--json"])
            .args(args));
        assert_eq!(code, 0, "{args:?}: {err}");
        let groups: serde_json::Value = serde_json::from_str(&out).unwrap();
        groups.as_array().unwrap().len()
    };
    assert_eq!(
        groups(&[]),
        24,
        "three groups of four warps in two launches"
    );
    assert_eq!(groups(&["--line", "toy.cu:7"]), 8);
    assert_eq!(groups(&["--line", "other.cu:7"]), 0);
    // One warp loads and stores the first word; all warps add to the word at 512.
    assert_eq!(groups(&["--address", "#0+0x0"]), 4);
    assert_eq!(groups(&["--address", "#0+0x200"]), 8);
}

#[test]
fn commands_accept_the_folder_of_a_run_with_one_benchmark() {
    let folder = tempfile::tempdir().unwrap();
    let benchmark = |name: &str| folder.path().join("run/benchmarks").join(name);
    write_capture(&benchmark("one").join("capture"), true);
    for arguments in [
        &["info", "run"][..],
        &["dump", "run"],
        &["verify", "run", "--json"],
        &["analyse", "run", "-o", "tables"],
        &["analyze", "run/benchmarks/one", "-o", "more"],
        &["export", "run", "--format", "memtrace-v1", "-o", "x"],
    ] {
        let (code, out, err) = run(superstep(folder.path()).args(arguments));
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
    }
    write_capture(&benchmark("two").join("capture"), true);
    let (code, _, err) = run(superstep(folder.path()).args(["info", "run"]));
    assert_eq!(code, 2, "{err}");
    let places = "benchmarks/one/capture, benchmarks/two/capture";
    assert!(err.contains(places), "{err}");
}

#[test]
fn json_is_one_document_in_every_command() {
    let folder = tempfile::tempdir().unwrap();
    write_capture(&folder.path().join("capture"), true);
    let empty = superstep_analysis::run_summary::RunSummary {
        schema_version: 1,
        ..Default::default()
    };
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let text = serde_json::to_string(&empty).unwrap();
        fs::write(folder.path().join(name).join("run.json"), text).unwrap();
    }
    for arguments in [
        &["info", "capture"][..],
        &["dump", "capture"],
        &["verify", "capture"],
        &["compare", "a", "b"],
        &["doctor"],
        &["cache"],
    ] {
        let (_, out, err) = run(superstep_alone(folder.path()).args(arguments).arg("--json"));
        let document = serde_json::from_str::<serde_json::Value>(&out);
        assert!(document.is_ok(), "{arguments:?}: {out}{err}");
    }
}

#[test]
fn dump_refuses_a_reversed_launch_range() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, err) =
        run(superstep(folder.path()).args(["dump", "capture", "--launch", "5..2"]));
    assert_eq!(code, 2);
    assert!(err.contains("A <= B"), "{err}");
}

#[test]
fn exported_accesses_are_imported_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    write_capture(&folder.path().join("capture"), true);
    let (code, out, err) = run(superstep(folder.path()).args([
        "export",
        "capture",
        "--format",
        "memtrace-v1",
        "-o",
        "exported",
    ]));
    assert_eq!((code, err.as_str()), (0, ""));
    // 4 warps of 32 loads, 32 or 31 stores and 2 atomics in each of two launches.
    assert!(out.contains("MemTrace-pipe-0: 524 records"), "{out}");
    let file = folder.path().join("exported/MemTrace-pipe-0");
    let (code, _, err) = run(superstep(folder.path())
        .args(["import", "--format", "memtrace-v1", "-o", "again"])
        .arg(&file));
    assert_eq!((code, err.as_str()), (0, ""));
    let (code, _, err) = run(superstep(folder.path()).args([
        "export",
        "again",
        "--format",
        "memtrace-v1",
        "-o",
        "twice",
    ]));
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        fs::read(&file).unwrap(),
        fs::read(folder.path().join("twice/MemTrace-pipe-0")).unwrap(),
        "byte for byte"
    );
}

#[test]
fn completions_and_the_version_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, _) = run(superstep(folder.path()).args(["completions", "bash"]));
    assert!(code == 0 && out.contains("_superstep"), "{out}");
    let (code, out, _) = run(superstep(folder.path()).arg("--version"));
    assert!(code == 0 && out.starts_with("superstep "), "{out}");
}

/// Commands that need accesses reject a capture of sums; all others work.
#[test]
fn a_capture_of_sums_is_exported_without_accesses() {
    use superstep_testing::{self as testing, CaptureBuilder};
    use superstep_trace::{Event, LaunchOutcome, LaunchSums, Tally};
    let folder = tempfile::tempdir().unwrap();
    let mut capture = CaptureBuilder::new(&folder.path().join("capture"), &common::table());
    let launch = capture.begin(testing::launch("_Z5twicePfi", 2, 64));
    let sums = LaunchSums {
        stores: Tally {
            threads: 128,
            bytes: 512,
            warps: 4,
        },
        ..LaunchSums::new(launch.stream, launch.launch)
    };
    capture.event(&Event::Sums(sums));
    capture.end_with(&launch, 128, LaunchOutcome::Completed);
    drop(capture.finish());
    let superstep = |arguments: &[&str]| run(superstep(folder.path()).args(arguments));

    let (code, out, err) = superstep(&["export", "capture", "--format", "csv", "-o", "csv"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("transfers.csv") && !out.contains("accesses.csv"),
        "{out}"
    );
    assert!(err.contains("no table of accesses"), "{err}");
    for arguments in [
        &[
            "export", "capture", "--format", "csv", "--table", "accesses",
        ][..],
        &["export", "capture", "--format", "memtrace-v1"],
        &["export", "capture", "--format", "appendix-b-json"],
        &["dump", "capture"],
    ] {
        let (code, out, err) = superstep(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains("without --in-situ"), "{arguments:?}: {err}");
    }
    let (code, out, _) = superstep(&["info", "capture"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("128 thread accesses added up in situ"),
        "{out}"
    );
    let (code, out, _) = superstep(&["verify", "capture"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("sums-consistent: holds: 1 launches"), "{out}");
}
