//! Imports the text of NVBit's `mem_trace`, with changed lines. Accepted text must become a complete capture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use superstep_export::nvbit;
use superstep_fuzz::{LineChange, assert_whole, change_lines, scratch, write};

const TEXT: &str = include_str!("../seeds/mem_trace.txt");

fuzz_target!(|changes: Vec<LineChange>| {
    let (text, folder) = (scratch().join("mem_trace.txt"), scratch().join("capture"));
    write(&text, change_lines(TEXT, &changes));
    if nvbit::import(&text, &folder).is_ok() {
        assert_whole(&folder);
    }
});
