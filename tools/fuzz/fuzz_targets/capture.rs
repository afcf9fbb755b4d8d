//! Opens, verifies, scans and exports a capture with mutated contents and correct checksums.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use superstep_fuzz::sealed::{Change, File};
use superstep_fuzz::{scratch, write};
use superstep_testing::{CaptureBuilder, group, launch, module, site, words};
use superstep_trace::*;

#[derive(Arbitrary, Debug)]
struct Input {
    events: Vec<Change>,
    stream: Vec<Change>,
}

/// Builds a capture of two launches with accesses of all kinds, copies, an opaque launch, and table parts.
fn base() -> (File, File) {
    let folder = scratch().join("base");
    let sites = (0..).zip(Op::ALL).map(|(local, op)| site(local, op));
    let module = module("kernel.cu", sites.collect(), &[("_Z6kernelPf", "kernel")]);
    let mut capture = CaptureBuilder::new(&folder, &module);
    let memory = 0x7f00_0000_0000;
    let id = capture.allocate(memory, 64 << 10, AllocationKind::Device);
    capture.copy(CopyDirection::HostToDevice, memory, 4096, 1024);
    for number in 0..2 {
        let groups: Vec<AccessGroup> = (0..40)
            .map(|n| {
                group(
                    n % 9,
                    u32::from(n) / 8,
                    words(memory + 128 * u64::from(n) + number),
                )
            })
            .collect();
        capture.launch(
            launch("_Z6kernelPf", 5, 32),
            &[&groups[..20], &groups[20..]],
        );
    }
    capture.memset(memory, 64, 1);
    capture.opaque(Some("_Z5otherv"));
    let part = |number: u32| Received {
        source_launch: 0,
        source_cta: number % 5,
        receiver_launch: 1,
        receiver_cta: number / 5,
        bytes: 4,
        count: 1,
    };
    capture.parts(Parts {
        received: (0..9).map(part).collect(),
        first_read: Vec::new(),
    });
    capture.event(&Event::Note("a note".into()));
    capture.free(id);
    assert!(capture.finish().complete);
    let read = |name: &str| File::read(&std::fs::read(folder.join(name)).expect("it was written"));
    (read(EVENTS_FILE), read(&stream_file_name(StreamId(0))))
}

fn read(folder: &std::path::Path) -> Result<(), TraceError> {
    let capture = Capture::open(folder)?;
    capture.verify()?;
    capture.groups(|_, _| ())?;
    for stream in capture.streams() {
        memtrace_v1::export(&capture, stream, &mut std::io::sink())?;
    }
    superstep_analysis::scan::scan(&capture)?;
    Ok(())
}

fuzz_target!(|input: Input| {
    static BASE: OnceLock<(File, File)> = OnceLock::new();
    let (events, stream) = BASE.get_or_init(base);
    let folder = scratch().join("capture");
    let _ = std::fs::create_dir(&folder);
    write(&folder.join(EVENTS_FILE), events.changed(&input.events));
    write(
        &folder.join(stream_file_name(StreamId(0))),
        stream.changed(&input.stream),
    );
    let _ = read(&folder);
});
