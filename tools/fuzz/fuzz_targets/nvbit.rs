//! The text of NVBit's `mem_trace`, with changed lines; what is accepted is a whole capture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use superstep_export::nvbit;
use superstep_fuzz::{LineChange, change_lines, scratch, write};
use superstep_trace::Capture;

const TEXT: &str = include_str!("../seeds/mem_trace.txt");

fuzz_target!(|changes: Vec<LineChange>| {
    let (text, folder) = (scratch().join("mem_trace.txt"), scratch().join("capture"));
    write(&text, change_lines(TEXT, &changes));
    if nvbit::import(&text, &folder).is_ok() {
        let capture = Capture::open(&folder).expect("what was imported can be opened");
        assert!(capture.complete, "{:?}", capture.problems);
        assert_eq!(
            capture.verify().expect("it can be read"),
            Vec::<String>::new()
        );
    }
});
