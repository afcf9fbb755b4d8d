//! Tests for `outcomes`.

use super::rows;
use crate::figures::multiples::Mark;
use crate::probes::outcomes::{COLOURS, OutcomeShare, outcomes};
use serde_json::json;

#[test]
fn classes_are_stacked_with_the_first_program_at_the_top() {
    let share = |program: &str, outcome, count, [share, low, high]: [f64; 3]| OutcomeShare {
        program: program.into(),
        outcome,
        effect: "DUE",
        count,
        share,
        low,
        high,
    };
    let study = outcomes(&[
        share("a", "masked", 3, [0.75, 0.3006, 0.9544]),
        share("a", "hang", 1, [0.25, 0.0, 0.5]),
        share("b", "hang", 4, [1.0, 0.51, 1.0]),
    ]);
    assert_eq!(
        rows(&study.tables[0]),
        json!([
            ["a", "masked", "DUE", 3, 0.75, 0.3006, 0.9544],
            ["a", "hang", "DUE", 1, 0.25, 0.0, 0.5],
            ["b", "hang", "DUE", 4, 1.0, 0.51, 1.0],
        ])
    );
    // `hang` is the second class and has the second colour in both programs.
    assert_eq!(
        study.figures[0].plots[0].marks,
        [
            Mark::Area((0.0, 0.15), (1.0, 0.85), COLOURS[1]),
            Mark::Area((0.0, 1.15), (0.75, 1.85), COLOURS[0]),
            Mark::Area((0.75, 1.15), (1.0, 1.85), COLOURS[1]),
        ]
    );
}
