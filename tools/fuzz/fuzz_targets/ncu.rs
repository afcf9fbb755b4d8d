//! Reads tables printed by Nsight Compute.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../../harness/src/counters/ncu.rs"]
#[allow(dead_code)]
mod ncu;

fuzz_target!(|text: &str| {
    let _ = ncu::read_csv(text);
});
