//! Tests for `totals`.

use super::{Toy, rows, site};
use crate::probes::{Study, study};
use serde_json::json;

fn found(toy: &Toy) -> Study {
    toy.study(|programs| study("branches", programs)).unwrap()
}

#[test]
fn lines_with_the_largest_values_are_listed_for_each_field() {
    let sites = [
        site("load", 0, 4, json!({})),
        site("store", 0, 4, json!({})),
        site("load", 1, 4, json!({})),
        site("load", 2, 4, json!({"line": 0})),
    ];
    let toy = Toy::new("launch", &[("bytes", "sum"), ("widest", "max")], &sites)
        .launch(&[10, 4, 20, 8, 100, 2, 0, 0])
        .launch(&[1, 4, 0, 0, 0, 0, 9, 1]);
    // Sites on the same line are combined: 10 + 20 + 1 bytes, the larger of 4 and 8.
    assert_eq!(
        rows(&found(&toy).tables[0]),
        json!([
            ["toy", "bytes", "first", "toy.cu:11", 100, 71.43],
            ["toy", "bytes", "first", "toy.cu:10", 31, 22.14],
            ["toy", "bytes", "first", "toy.cu", 9, 6.43],
            ["toy", "widest", "first", "toy.cu:10", 8, null],
            ["toy", "widest", "first", "toy.cu:11", 2, null],
            ["toy", "widest", "first", "toy.cu", 1, null],
        ])
    );
}

#[test]
fn values_that_were_never_set_are_left_out() {
    let sites = [site("load", 0, 4, json!({})), site("load", 1, 4, json!({}))];
    let toy = Toy::new("launch", &[("first", "min")], &sites).launch(&[u64::MAX, 7]);
    let expected = json!([["toy", "first", "first", "toy.cu:11", 7, null]]);
    assert_eq!(rows(&found(&toy).tables[0]), expected);
}
