//! Tests for `partial`.

use super::*;
use superstep_analysis::estimate::Estimate;
use superstep_analysis::run_summary::{BenchmarkSummary, Check, NotCompared, Part, Status};
use superstep_trace::{Sample, Selection};

#[test]
fn missing_comparisons_are_listed_with_their_reason() {
    let benchmark = |name: &str, why| BenchmarkSummary {
        name: name.into(),
        status: Status::Passed,
        verification: vec![Check {
            check: "golden".into(),
            not_compared: why,
            ..Check::default()
        }],
        ..BenchmarkSummary::default()
    };
    let summary = RunSummary {
        benchmarks: vec![
            benchmark("a", Some(NotCompared::OtherLlvm)),
            benchmark("b", None),
            benchmark("c", Some(NotCompared::OtherLlvm)),
        ],
        ..RunSummary::default()
    };
    let line = "note: a, c: not compared: different LLVM version";
    assert_eq!(note_lines(&summary), [line]);
    let table = crate::results::summary_table(&summary, false, 120);
    let shown = |line: &&str| line.contains("passed, not compared");
    assert_eq!(table.lines().filter(shown).count(), 2, "{table}");
}

#[test]
fn a_partial_capture_is_marked_as_partial() {
    let part = |program, scope, recorded| Part {
        program,
        scope,
        recorded,
    };
    let estimate = Estimate {
        recorded: 100.0,
        total: Some(1000.0),
        standard_error: Some(20.0),
        interval: Some([955.0, 1045.0]),
    };
    let benchmark = BenchmarkSummary {
        name: "hs2d".into(),
        selection: Some(SelectionSummary {
            selection: Selection {
                sample: Sample::parse(SampleUnit::Ctas, "0.1", 1).ok(),
                ..Selection::default()
            },
            launches: part(5, 5, 5),
            ctas: part(2000, 1000, 100),
            scale_factor: 10.0,
            estimates: vec![EstimatedTotal {
                kernel: None,
                quantity: "bytes_loaded".into(),
                estimate,
            }],
            no_estimates: None,
        }),
        ..BenchmarkSummary::default()
    };
    let complete = BenchmarkSummary::default();
    let summary = RunSummary {
        benchmarks: vec![complete, benchmark],
        ..RunSummary::default()
    };
    let notes = note_lines(&summary);
    let notes: Vec<&str> = notes.iter().flat_map(|note| note.lines()).collect();
    assert!(notes[0].starts_with(
        "note: hs2d: partial: 5 of 5 launches, 100 of 2000 CTAs (1000 in the scope) recorded; counts"
    ));
    let excluded = "exclude reads of bytes that other launches or CTAs stored";
    assert!(notes[0].ends_with(excluded), "{}", notes[0]);
    let rate = "rate 0.1, seed 1, scale factor 10.000";
    assert!(notes[1].contains(rate), "{}", notes[1]);
    let total = "    bytes loaded: 1,000 (standard error 2.00 %; 95 % CI 955 to 1,045)";
    assert_eq!(notes[2..], [total]);
}
