//! Checks that the device's header, compiled for the host, changes entries in the same way as the CPU backend.

use crate::tests::Numbers;
use std::fmt::Write;
use superstep_runtime_core::in_situ::entry::{Entry, ThreadId};

const STEPS: usize = 4000;

#[test]
fn host_and_device_change_entries_identically() {
    let mut source = String::from(
        "#include \"in_situ.h\"\n#include <stdio.h>\nint main(void) {\nstruct InSituEntry e = {0, 0};\n",
    );
    let mut expected = String::new();
    let (mut numbers, mut entry, mut launch) = (Numbers(1), Entry::HOST, 1);
    for _ in 0..STEPS {
        launch += u32::from(numbers.below(8) == 0);
        let (cta, thread) = (numbers.below(3) as u32, numbers.below(3) as u32);
        let who = ThreadId::new(launch, cta, thread);
        let me = who.0;
        match numbers.below(16) {
            0 => {
                let byte = [0u8, 0xff, 0xee][numbers.below(3) as usize];
                let half = u64::from_ne_bytes([byte; 8]);
                entry = Entry {
                    before: half,
                    now: half,
                };
                let _ = writeln!(source, "e.before = e.now = {half}ull;");
            }
            1..=7 => {
                let is_plain = numbers.below(2) == 0;
                entry.write(who, is_plain);
                let plain = u8::from(is_plain);
                let _ = writeln!(source, "e = in_situ_written(e, {me}ull, {plain});");
            }
            _ => {
                let past = entry.past(who);
                let bytes = numbers.below(16) as u8;
                // Only bytes written by a launch are marked.
                if past >> 63 == 0 && past != 0 {
                    entry.mark(who, bytes);
                    let _ = writeln!(
                        source,
                        "e.before |= {bytes}ull << in_situ_read_shift(in_situ_is_past(e, {launch}));"
                    );
                }
            }
        }
        let past = entry.past(who);
        let _ = writeln!(
            source,
            "printf(\"%llx %llx %llx %d\\n\", (long long unsigned)e.before, (long long unsigned)e.now, (long long unsigned)in_situ_source(e, {launch}), in_situ_is_of_another_cta(e, {me}ull));"
        );
        let of_another = u8::from(entry.is_from_another_cta(who));
        let _ = writeln!(
            expected,
            "{:x} {:x} {past:x} {of_another}",
            entry.before, entry.now
        );
    }
    source.push_str("}\n");
    let Some(found) = crate::tests::run_c(&source) else {
        return;
    };
    let first = found
        .lines()
        .zip(expected.lines())
        .position(|(a, b)| a != b);
    assert_eq!(first, None, "first step that differs");
    assert_eq!(found.lines().count(), STEPS);
}
