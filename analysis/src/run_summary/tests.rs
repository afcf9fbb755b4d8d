//! Tests for run summaries as JSON, and the numbers in them.

use super::*;

#[test]
fn a_failed_benchmark_has_nulls_not_zeroes() {
    let benchmark = BenchmarkSummary {
        name: "bfs".into(),
        failure: Some(Failure::new(superstep_trace::FailureKind::Build, "no")),
        ..BenchmarkSummary::default()
    };
    let json = serde_json::to_value(&benchmark).unwrap();
    assert_eq!(json["status"], "failed");
    assert!(json["threads"].is_null());
    assert!(json["seconds"]["native"].is_null());
    let back: BenchmarkSummary = serde_json::from_value(json).unwrap();
    assert_eq!(back, benchmark);
}

#[test]
fn the_median_is_in_the_middle() {
    assert_eq!(Spread::of(&[]), None);
    let spread = Spread::of(&[3.0, 1.0, 2.0]).unwrap();
    assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.0, 3.0));
    assert_eq!(Spread::of(&[4.0, 1.0]).unwrap().median, 2.5);
}

#[test]
fn a_program_without_stores_has_a_share_of_zero() {
    assert_eq!(CommunicationSummary::new(0, 0).share, 0.0);
    assert_eq!(CommunicationSummary::new(8, 2).share, 0.25);
}
