//! Tables that Nsight Compute prints, with changed lines.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use superstep_fuzz::{LineChange, change_lines};

#[path = "../../../harness/src/counters/ncu.rs"]
#[allow(dead_code)]
mod ncu;

#[derive(Arbitrary, Debug)]
struct Input {
    raw_page: bool,
    changes: Vec<LineChange>,
}

const BY_LINE: &str = include_str!("../seeds/ncu.csv");
const RAW: &str = include_str!("../seeds/ncu-raw.csv");

fuzz_target!(|input: Input| {
    let base = if input.raw_page { RAW } else { BY_LINE };
    let _ = ncu::read_csv(&change_lines(base, &input.changes));
});
