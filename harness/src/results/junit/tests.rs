//! Tests for `junit`.

use super::*;
use superstep_analysis::run_summary::{Check, NotCompared};
use superstep_trace::{Backend, FailureKind};

#[test]
fn failures_skips_and_earlier_attempts_are_reported() {
    let benchmark = |name: &str, status, failure| BenchmarkSummary {
        name: name.into(),
        status,
        failure,
        ..BenchmarkSummary::default()
    };
    let mut retried = benchmark("a", Status::Passed, None);
    retried.earlier_attempts = vec![Failure::new(FailureKind::Timeout, "did not end")];
    retried.seconds.native = Some(1.5);
    retried.verification = vec![Check {
        not_compared: Some(NotCompared::OtherInputs),
        ..Check::default()
    }];
    let summary = RunSummary {
        suite: "toys".into(),
        size: "tiny".into(),
        backend: Backend::Cpu,
        benchmarks: vec![
            retried,
            benchmark(
                "b",
                Status::Failed,
                Some(Failure::new(FailureKind::Run, "it <crashed>\nbadly")),
            ),
            benchmark(
                "c",
                Status::Skipped,
                Some(Failure::new(FailureKind::Interrupted, "Ctrl-C")),
            ),
        ],
        ..RunSummary::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/junit.xml");
    write_junit(&path, &summary).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    for part in [
        r#"tests="3""#,
        r#"failures="1""#,
        r#"name="toys.tiny.cpu""#,
        r#"<flakyFailure message="did not end" type="timeout""#,
        r#"time="1.500""#,
        r#"name="not_compared" value="different inputs""#,
        "<system-out>not compared with a golden result: different inputs</system-out>",
        r#"<failure message="it &lt;crashed&gt;" type="run">"#,
        r#"<skipped message="Ctrl-C" type="interrupted""#,
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}
