//! Tests for `table`.

use super::*;
use superstep_analysis::run_summary::{
    ByteCounts, Check, CommunicationSummary, Repeats, ThreadCounts, WithinLaunchSummary,
};
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

fn passed() -> BenchmarkSummary {
    BenchmarkSummary {
        name: "hs2d".into(),
        status: Status::Passed,
        launches: Some(5),
        ctas: Some(9245),
        threads: Some(ThreadCounts {
            loads: 924_800,
            stores: 262_144,
            atomics: 0,
        }),
        bytes: Some(ByteCounts {
            loaded: 3_699_200,
            stored: 1_048_576,
            atomic: 0,
        }),
        communication: Some(CommunicationSummary::new(1_048_576, 460_000)),
        within_launch: Some(WithinLaunchSummary::default()),
        seconds: Seconds {
            native: Some(0.5),
            traced: Some(1.25),
            native_kernel: Some(0.25),
            traced_kernel: Some(0.875),
            ..Seconds::default()
        },
        capture_bytes: Some(70_000),
        ..BenchmarkSummary::default()
    }
}

fn suite() -> RunSummary {
    let repeated = BenchmarkSummary {
        name: "path".into(),
        repeats: Some(Repeats {
            count: 3,
            native: Spread::of(&[0.5, 0.25, 1.0]),
            ..Repeats::default()
        }),
        earlier_attempts: vec![Failure::new(FailureKind::Run, "")],
        ..passed()
    };
    let warned = BenchmarkSummary {
        name: "nbody".into(),
        verification: vec![Check {
            ok: true,
            warning: true,
            ..Check::default()
        }],
        ..passed()
    };
    let failed = BenchmarkSummary {
        name: "bfs".into(),
        failure: Some(Failure::new(FailureKind::Build, "no")),
        ..BenchmarkSummary::default()
    };
    RunSummary {
        benchmarks: vec![passed(), repeated, warned, failed],
        ..RunSummary::default()
    }
}

#[test]
fn a_table_leaves_out_columns_that_do_not_fit() {
    for width in [80, 120, 200] {
        let table = summary_table(&suite(), false, width);
        let longest = table.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(width), "{table}");
        insta::assert_snapshot!(format!("table_{width}"), table);
    }
    // The benchmark and its status are shown at any width.
    assert!(summary_table(&suite(), false, 10).contains("failed (build)"));
}

#[test]
fn a_status_with_a_warning_is_yellow() {
    let table = summary_table(&suite(), true, 120);
    let colored = |color: u8, status: &str| {
        let start = format!("\u{1b}[38;5;{color}m");
        table
            .lines()
            .any(|line| line.contains(&start) && line.contains(status))
    };
    assert!(
        colored(2, "passed") && colored(YELLOW, "passed, 1 warning"),
        "{table:?}"
    );
    assert!(colored(1, "failed (build)"), "{table:?}");
}

#[test]
fn short_times_have_a_slowdown_only_on_a_gpu() {
    let times = |native, traced| Seconds {
        native: Some(native),
        traced: Some(traced),
        native_kernel: Some(native / 2.0),
        traced_kernel: Some(traced / 2.0),
        ..Seconds::default()
    };
    let shown = |native, traced, is_gpu| slowdown(&times(native, traced), is_gpu);
    assert_eq!(shown(0.01, 0.03, false), None);
    assert_eq!(shown(0.01, 3.0, false), None);
    assert_eq!(shown(0.06, 0.12, false).as_deref(), Some("2.0x"));
    assert_eq!(shown(0.01, 0.03, true).as_deref(), Some("3.0x"));
}
