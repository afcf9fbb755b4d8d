//! Tests of `folder`.

use super::*;

#[test]
fn latest_is_the_last_run() {
    let out = tempfile::tempdir().unwrap();
    let first = RunFolder::create(out.path(), "toy").unwrap();
    let second = RunFolder::create(out.path(), "toy").unwrap();
    assert_ne!(first.path(), second.path());
    let latest = out.path().join("toy/latest").canonicalize().unwrap();
    assert_eq!(latest, second.path());
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
