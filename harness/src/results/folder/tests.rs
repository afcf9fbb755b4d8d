//! Tests for `folder`.

use super::*;

#[test]
fn latest_is_the_last_run_with_a_page() {
    let out = tempfile::tempdir().unwrap();
    let create = || {
        let run = RunFolder::create(out.path(), "toy").unwrap();
        run.write_summary(&RunSummary::default()).unwrap();
        run
    };
    let latest = || out.path().join("toy/latest").canonicalize().unwrap();
    let first = create();
    first.become_latest();
    let second = create();
    assert_ne!(first.path(), second.path());
    assert_eq!(latest(), first.path());
    let newest = RunFolder::newest(out.path(), "toy").unwrap();
    assert_eq!(newest.path().canonicalize().unwrap(), second.path());
    second.become_latest();
    assert_eq!(latest(), second.path());
    assert!(RunFolder::newest(out.path(), "other").is_none());
}

#[test]
fn a_summary_is_read_back_and_other_versions_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(out.path(), "toy").unwrap();
    let mut summary = RunSummary {
        schema_version: 1,
        suite: "toy".into(),
        ..RunSummary::default()
    };
    folder.write_summary(&summary).unwrap();
    assert_eq!(folder.read_summary().unwrap(), summary);
    summary.schema_version = 99;
    folder.write_summary(&summary).unwrap();
    let failure = folder.read_summary().unwrap_err();
    assert!(failure.message.contains("schema version 99"));
}
