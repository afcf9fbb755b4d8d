//! Tests of `table`.

use super::*;
use superstep_analysis::run_summary::{Repeats, ThreadCounts};
use superstep_trace::{Failure, FailureKind};

#[test]
fn numbers_are_human_readable() {
    assert_eq!(
        [0, 999, 1000, 11_350_200].map(human_count),
        ["0", "999", "1,000", "11,350,200"]
    );
    assert_eq!(
        [counted(1, "CTA"), counted(2000, "launch")],
        ["1 CTA", "2,000 launches"]
    );
    assert_eq!(
        [0, 1023, 1536, 3 << 30].map(human_bytes),
        ["0 B", "1023 B", "1.50 KiB", "3.00 GiB"]
    );
}

#[test]
fn one_line_a_benchmark() {
    let passed = BenchmarkSummary {
        name: "hs2d".into(),
        status: Status::Passed,
        launches: Some(5),
        ctas: Some(9245),
        threads: Some(ThreadCounts {
            loads: 924_800,
            stores: 262_144,
            atomics: 0,
        }),
        seconds: Seconds {
            native: Some(0.5),
            traced: Some(1.25),
            native_kernel: Some(0.25),
            traced_kernel: Some(0.875),
            ..Seconds::default()
        },
        repeats: Some(Repeats {
            count: 3,
            native: Spread::of(&[0.5, 0.25, 1.0]),
            ..Repeats::default()
        }),
        earlier_attempts: vec![Failure::new(FailureKind::Run, "")],
        ..BenchmarkSummary::default()
    };
    let failed = BenchmarkSummary {
        name: "bfs".into(),
        failure: Some(Failure::new(FailureKind::Build, "no")),
        ..BenchmarkSummary::default()
    };
    let summary = RunSummary {
        benchmarks: vec![passed, failed],
        ..RunSummary::default()
    };
    insta::assert_snapshot!(summary_table(&summary, false));
    assert!(summary_table(&summary, true).contains("\u{1b}["));
}
