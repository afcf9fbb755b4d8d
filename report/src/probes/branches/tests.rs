//! Tests of `branches`.

use super::super::testing::{Toy, rows, site};
use super::*;
use serde_json::json;

const FIELDS: [(&str, &str); 4] = [
    ("executions", "sum"),
    ("active_threads", "sum"),
    ("taken_threads", "sum"),
    ("divergent", "sum"),
];

#[test]
fn a_branch_that_split_a_warp_once_is_divergent() {
    let sites = [
        site("branch", 0, 0, json!({})),
        site("branch", 1, 0, json!({})),
    ];
    let study = Toy::new("launch", &FIELDS, &sites)
        .launch(&[10, 320, 320, 0, 30, 960, 0, 0])
        .launch(&[10, 300, 100, 5, 0, 0, 0, 0])
        .study(|programs| study("features", programs))
        .unwrap();
    // 1 of 2 branches; 5 of 10 + 10 + 30 executions.
    assert_eq!(
        rows(&study.tables[0]),
        json!([["toy", 2, 1, 50.0, 50, 5, 10.0]])
    );
    // The branch with most executions first; 620 threads were at the other one, 420 took it.
    assert_eq!(
        rows(&study.tables[1]),
        json!([
            ["toy", "first", "toy.cu", 11, 1, 30, 960, 0, 960, 0],
            ["toy", "first", "toy.cu", 10, 0, 20, 620, 420, 200, 5],
        ])
    );
    let divergent = Mark::Area((1.1, 0.0), (1.9, 5.0), palette::VERMILLION);
    assert!(study.figures[0].plots[0].marks.contains(&divergent));
}
