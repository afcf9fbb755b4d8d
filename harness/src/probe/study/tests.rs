//! Tests for `study`.

use super::*;
use superstep_build::failure::Failure;

#[test]
fn means_are_geometric_and_ignore_failures() {
    let record = |name: &str, probed: f64| ProbedBenchmark {
        name: name.into(),
        launches: 3,
        native_s: 1.0,
        probed_s: probed,
        native_kernel_ms: 200.0,
        probed_kernel_ms: 200.0 * probed,
        ..ProbedBenchmark::default()
    };
    let mut failed = record("c", 100.0);
    failed.failure = Some(Failure::internal("x", "y"));
    let run = ProbeRun {
        probe: "p".into(),
        device: "d".into(),
        backend: "cpu".into(),
        benchmarks: vec![record("a", 2.0), record("b", 8.0), failed],
        ..ProbeRun::default()
    };
    let text = run_table(&run);
    let means = "4.00x the wall time over 2 programs, 4.00x the kernel time over 2 programs";
    assert!(text.ends_with(means), "{text}");
}

#[test]
fn short_times_have_no_slowdown() {
    let run = ProbeRun {
        backend: "cpu".into(),
        benchmarks: vec![ProbedBenchmark {
            name: "a".into(),
            native_s: 0.02,
            probed_s: 0.03,
            native_kernel_ms: 2.0,
            probed_kernel_ms: 4.0,
            ..ProbedBenchmark::default()
        }],
        ..ProbeRun::default()
    };
    assert_eq!(run_table(&run).matches('–').count(), 2);
    assert_eq!(means(&run), None);
    let gpu = ProbeRun {
        backend: "cuda".into(),
        ..run
    };
    assert!(run_table(&gpu).contains("2.00x"));
}

#[test]
fn programs_without_results_are_named() {
    let record = |name: &str, launches, probed| ProbedBenchmark {
        name: name.into(),
        launches,
        probed_launches: probed,
        ..ProbedBenchmark::default()
    };
    let run = ProbeRun {
        benchmarks: vec![
            record("a", 0, Some(0)),
            record("b", 2, Some(0)),
            record("c", 2, Some(1)),
            record("d", 2, None),
        ],
        ..ProbeRun::default()
    };
    let text = run_table(&run);
    let warnings = text.lines().filter(|line| line.starts_with("warning: "));
    let warnings: Vec<&str> = warnings.collect();
    assert_eq!(warnings.len(), 2, "{text}");
    assert!(warnings[0].contains("a launches no kernel"), "{text}");
    assert!(warnings[1].contains("b: nothing was measured"), "{text}");
}
