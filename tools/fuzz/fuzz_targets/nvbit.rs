//! Imports the text of NVBit's `mem_trace`. Accepted text must become a complete capture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use superstep_export::nvbit;
use superstep_fuzz::{assert_whole, scratch, write};

fuzz_target!(|bytes: &[u8]| {
    let (text, folder) = (scratch().join("mem_trace.txt"), scratch().join("capture"));
    write(&text, bytes);
    if nvbit::import(&text, &folder).is_ok() {
        assert_whole(&folder);
    }
});
