//! Reads tables printed by Nsight Compute, with changed lines.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use superstep_fuzz::{LineChange, change_lines};

#[path = "../../../harness/src/counters/ncu.rs"]
#[allow(dead_code)]
mod ncu;

#[derive(Arbitrary, Debug)]
struct Input {
    changes: Vec<LineChange>,
}

const BY_LINE: &str = include_str!("../seeds/ncu.csv");

fuzz_target!(|input: Input| {
    let _ = ncu::read_csv(&change_lines(BY_LINE, &input.changes));
});
