//! Tests for `values`.

use super::{Toy, rows, site};
use crate::probes::values::study;
use serde_json::json;

const FIELDS: [(&str, &str); 4] = [
    ("executions", "sum"),
    ("ones", "and"),
    ("ever_set", "or"),
    ("differing", "or"),
];
/// Results of a site that the launch did not reach.
const NOTHING: [u64; 4] = [0, u64::MAX, 0, 0];

#[test]
fn constant_bits_are_always_or_never_set() {
    let sites = [
        site("block", 0, 2, json!({})),
        site("block", 1, 2, json!({})),
        site("block", 2, 2, json!({})),
        site("value", 0, 8, json!({"what": "add"})),
        site("value", 1, 32, json!({"what": "load"})),
        site("value", 2, 64, json!({"what": "mul"})),
    ];
    let block = |executions| [executions, u64::MAX, 0, 0];
    let value = |ones, ever_set, differing| [0, ones, ever_set, differing];
    let first = [
        block(5),
        block(2),
        block(0),
        value(0b011, 0b011, 0),
        value(0, 0xffff, 1),
        NOTHING,
    ];
    let second = [
        block(3),
        block(0),
        block(0),
        value(0b101, 0b111, 0),
        NOTHING,
        NOTHING,
    ];
    let study = Toy::new("launch", &FIELDS, &sites)
        .launch(first.as_flattened())
        .launch(second.as_flattened())
        .study(study)
        .unwrap();
    // `add`: bit 0 is always set, bits 3 to 7 never: 6 of 8. `load`: bits 16 to 31 never: 16 of 32, and lanes differ.
    assert_eq!(
        rows(&study.tables[1]),
        json!([
            ["toy", "first", "toy.cu", 10, "add", 8, 8, 6, true],
            ["toy", "first", "toy.cu", 11, "load", 32, 2, 16, false],
        ])
    );
    // Dynamic: 8 * 6 + 2 * 16 of 8 * 8 + 2 * 32 bits, 8 of 10 scalar. Static: 22 of 40 bits, 1 of 2 scalar.
    assert_eq!(
        rows(&study.tables[0]),
        json!([["toy", 2, 10, 62.5, 80.0, 55.0, 50.0]])
    );
}
