//! Tests for `progress`.

use super::*;

fn failed(kind: FailureKind) -> BenchmarkSummary {
    BenchmarkSummary {
        failure: Some(Failure::new(kind, "no")),
        ..BenchmarkSummary::default()
    }
}

#[test]
fn machine_failures_are_retried_and_program_failures_are_final() {
    assert!(is_final(&failed(FailureKind::Timeout)));
    assert!(is_final(&failed(FailureKind::Verification)));
    for kind in [
        FailureKind::Interrupted,
        FailureKind::Internal,
        FailureKind::Fetch,
    ] {
        assert!(!is_final(&failed(kind)), "{kind:?}");
    }
}

#[test]
fn previous_results_are_written_and_changed_programs_run_again() {
    let out = tempfile::tempdir().unwrap();
    let named = |name: &str| BenchmarkSummary {
        name: name.to_owned(),
        status: Status::Passed,
        ran: Some("a".to_owned()),
        ..BenchmarkSummary::default()
    };
    let current = RunSummary {
        schema_version: SCHEMA_VERSION,
        planned: vec!["x".into(), "y".into()],
        ..RunSummary::default()
    };
    let folder = RunFolder::create(out.path(), "toy").unwrap();
    let interrupted = RunSummary {
        benchmarks: vec![named("y")],
        ..current.clone()
    };
    folder.write_summary(&interrupted).unwrap();
    let path = folder.path().to_owned();
    // The first process still holds the lock on the folder.
    let failure = Progress::resume(RunFolder::open(&path), &current)
        .err()
        .unwrap();
    assert!(failure.message.contains("still"), "{failure}");
    drop(folder);
    let mut progress = Progress::resume(RunFolder::open(&path), &current).unwrap();
    assert_eq!(progress.summary.resumed.len(), 1);
    progress.push(named("x")).unwrap();
    let written = progress.folder.read_summary().unwrap();
    assert_eq!(written.benchmarks.len(), 2);
    assert_eq!(progress.take_previous("y", "other"), None);
    assert_eq!(
        progress.take_previous("y", "a"),
        None,
        "it was removed above"
    );
    drop(progress);

    let other = RunSummary {
        planned: vec!["x".into()],
        ..current.clone()
    };
    let failure = Progress::resume(RunFolder::open(&path), &other)
        .err()
        .unwrap();
    assert!(
        failure.message.contains("this command selects x"),
        "{failure}"
    );
    let progress = Progress::resume(RunFolder::open(&path), &current).unwrap();
    let complete = RunSummary {
        complete: true,
        ..progress.summary.clone()
    };
    progress.folder.write_summary(&complete).unwrap();
    drop(progress);
    let failure = Progress::resume(RunFolder::open(&path), &current)
        .err()
        .unwrap();
    assert!(failure.message.contains("complete"), "{failure}");
}
