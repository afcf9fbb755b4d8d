//! Tests of `junit`.

use super::*;
use superstep_analysis::run_summary::{Check, NotCompared};
use superstep_trace::{Backend, FailureKind};

#[test]
fn failures_and_skips_are_told() {
    let benchmark = |name: &str, status, failure| BenchmarkSummary {
        name: name.into(),
        status,
        failure,
        ..BenchmarkSummary::default()
    };
    let mut passed = benchmark("a", Status::Passed, None);
    passed.seconds.native = Some(1.5);
    passed.verification = vec![Check {
        not_compared: Some(NotCompared::OtherInputs),
        ..Check::default()
    }];
    let summary = RunSummary {
        suite: "toys".into(),
        size: "tiny".into(),
        backend: Backend::Cpu,
        benchmarks: vec![
            passed,
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
        r#"time="1.500""#,
        r#"name="not_compared" value="other inputs""#,
        "<system-out>not compared with a golden result: other inputs</system-out>",
        r#"<failure message="it &lt;crashed&gt;" type="run">"#,
        r#"<skipped message="Ctrl-C" type="interrupted""#,
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}
