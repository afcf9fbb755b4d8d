//! Tests of `progress`.

use super::*;

fn failed(kind: FailureKind) -> BenchmarkSummary {
    BenchmarkSummary {
        failure: Some(Failure::new(kind, "no")),
        ..BenchmarkSummary::default()
    }
}

#[test]
fn failures_of_the_machine_are_retried_and_those_of_the_program_are_final() {
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
fn kept_results_of_later_benchmarks_are_written_and_changed_programs_run_again() {
    let out = tempfile::tempdir().unwrap();
    let named = |name: &str| BenchmarkSummary {
        name: name.to_owned(),
        status: Status::Passed,
        ran: Some("a".to_owned()),
        ..BenchmarkSummary::default()
    };
    let asked = RunSummary {
        schema_version: SCHEMA_VERSION,
        planned: vec!["x".into(), "y".into()],
        ..RunSummary::default()
    };
    let folder = RunFolder::create(out.path(), "toy").unwrap();
    let interrupted = RunSummary {
        benchmarks: vec![named("y")],
        ..asked.clone()
    };
    folder.write_summary(&interrupted).unwrap();
    let path = folder.path().to_owned();
    // The first process still locks the folder.
    let failure = Progress::resume(RunFolder::open(&path), &asked)
        .err()
        .unwrap();
    assert!(failure.message.contains("still"), "{failure}");
    drop(folder);
    let mut progress = Progress::resume(RunFolder::open(&path), &asked).unwrap();
    assert_eq!(progress.summary.resumed.len(), 1);
    progress.push(named("x")).unwrap();
    let written = progress.folder.read_summary().unwrap();
    assert_eq!(written.benchmarks.len(), 2);
    assert_eq!(progress.take_previous("y", "other"), None);
    assert_eq!(
        progress.take_previous("y", "a"),
        None,
        "it was dropped above"
    );
    drop(progress);

    let other = RunSummary {
        planned: vec!["x".into()],
        ..asked.clone()
    };
    let failure = Progress::resume(RunFolder::open(&path), &other)
        .err()
        .unwrap();
    assert!(
        failure.message.contains("this command selects x"),
        "{failure}"
    );
    let progress = Progress::resume(RunFolder::open(&path), &asked).unwrap();
    let complete = RunSummary {
        complete: true,
        ..progress.summary.clone()
    };
    progress.folder.write_summary(&complete).unwrap();
    drop(progress);
    let failure = Progress::resume(RunFolder::open(&path), &asked)
        .err()
        .unwrap();
    assert!(failure.message.contains("complete"), "{failure}");
}
