//! Tests for `memory`.

use super::{Toy, rows, site};
use crate::probes::memory::study;
use serde_json::json;

const LANES: usize = 32;

#[test]
fn access_groups_are_counted_by_threads_and_lines() {
    let fields = [("accesses", "sum"), ("threads", "sum"), ("lines", "sum")];
    let cell = |threads: usize, lines: usize| (threads - 1) * LANES + lines - 1;
    let mut first = [0; LANES * LANES];
    first[cell(1, 1)] = 2;
    first[cell(32, 32)] = 3;
    let mut second = [0; LANES * LANES];
    second[cell(4, 2)] = 5;
    let study = Toy::new("launch", &fields, &[site("load", 0, 4, json!({}))])
        .launch_with_tables(&[0; 3], &first)
        .launch_with_tables(&[0; 3], &second)
        .study(study)
        .unwrap();
    // 2 + 3 + 5 groups of 2 + 96 + 20 threads on 2 + 96 + 10 lines; 96 of 118 threads are in fully diverged groups.
    assert_eq!(
        rows(&study.tables[0]),
        json!([["toy", 10, 118, 108, 10.8, 81.36]])
    );
    let by_lines = rows(&study.tables[1]);
    assert_eq!(by_lines[0], json!(["toy", 1, 2, 1.69]));
    assert_eq!(by_lines[1], json!(["toy", 2, 20, 16.95]));
    assert_eq!(by_lines[31], json!(["toy", 32, 96, 81.36]));
    assert_eq!(
        rows(&study.tables[2]),
        json!([["toy", 1, 1, 2], ["toy", 4, 2, 5], ["toy", 32, 32, 3]])
    );
}
