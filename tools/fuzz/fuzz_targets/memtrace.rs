//! Reads and imports files in the format of Rieber 2017.
#![no_main]

use libfuzzer_sys::fuzz_target;
use superstep_fuzz::{assert_whole, scratch, write};
use superstep_trace::StreamId;
use superstep_trace::memtrace_v1::{Reader, import};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(reader) = Reader::new(bytes, "fuzzed") {
        reader.for_each(drop);
    }
    let (file, folder) = (scratch().join("file"), scratch().join("capture"));
    write(&file, bytes);
    if import(&[(StreamId(0), &file)], &folder).is_ok() {
        assert_whole(&folder);
    }
});
