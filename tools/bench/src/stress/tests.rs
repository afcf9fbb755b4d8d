//! Tests for `stress`.

use super::*;
use superstep_trace::Backend;

#[test]
fn launch_above_the_allowed_overhead_is_a_problem() {
    let each = |time: f64| vec![serde_json::json!({"launches": 7, "microseconds_each": time})];
    assert_eq!(slowdown(&each(21.5), &each(2.0)), None);
    assert!(slowdown(&each(23.0), &each(2.0)).is_some());
    assert_eq!(slowdown(&[serde_json::json!({"overlap": 1.0})], &[]), None);
}

#[test]
fn cases_include_a_thousand_stress_launches_and_every_fault() {
    let cases = cases::all(Backend::Cuda, Protocol::Stream);
    let storms = cases.iter().filter(|case| case.name.starts_with("storm"));
    assert_eq!(storms.count() * 40, 1000);
    let source = include_str!("../../../../suites/stress/faults/faults.cu");
    for case in cases.iter().filter(|case| case.program == "faults") {
        let mode = &case.arguments[0];
        assert!(source.contains(mode.as_str()), "{mode}");
    }
}
