//! Tests for `blocks`.

use super::{Toy, rows, site};
use crate::figures::multiples::Mark;
use crate::figures::palette;
use crate::probes::blocks::study;
use serde_json::json;

/// Two launches of a kernel with three blocks, the second of which is a loop, and an unreachable block: 4 threads loop
/// 3 times each, then 2 threads skip the loop.
#[test]
fn hottest_block_has_most_executions() {
    let block = |number, successors: &[u32], lines| {
        site(
            "block",
            number,
            5,
            json!({"successors": successors, "lines": lines}),
        )
    };
    let sites = [
        block(0, &[1, 2], json!([3, 3])),
        block(1, &[1, 2], json!([4, 6])),
        block(2, &[], json!([7, 8])),
        block(3, &[], json!(null)),
    ];
    let study = Toy::new("thread", &[("executions", "sum")], &sites)
        .launch(&[4, 12, 4, 0])
        .launch(&[2, 0, 2, 0])
        .study(study)
        .unwrap();
    // 6 + 12 + 6 executions in total.
    assert_eq!(
        rows(&study.tables[0]),
        json!([["toy", 4, 3, 24, "first", 1, "toy.cu", 4, 6, 50.0]])
    );
    assert_eq!(
        rows(&study.tables[1]),
        json!([
            ["toy", "first", 0, "toy.cu", 3, 3, 5, "1 2", 6, 25.0],
            ["toy", "first", 1, "toy.cu", 4, 6, 5, "1 2", 12, 50.0],
            ["toy", "first", 2, "toy.cu", 7, 8, 5, "", 6, 25.0],
            ["toy", "first", 3, "toy.cu", 0, 0, 5, "", 0, 0.0],
        ])
    );
    let plot = &study.figures[0].plots[0];
    assert_eq!(plot.note, "12 in first");
    // Only the loop's own edge, one of four, is a back edge.
    let edges = |wanted| {
        let is_edge = |mark: &&Mark| matches!(mark, Mark::Line(_, _, colour) if *colour == wanted);
        plot.marks.iter().filter(is_edge).count()
    };
    assert_eq!(edges(palette::GREY), 3);
    assert_eq!(edges(palette::VERMILLION), 1);
}
