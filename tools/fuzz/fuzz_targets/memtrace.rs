//! Reads and imports files in the format of Rieber 2017.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use superstep_fuzz::{assert_whole, edge, scratch, write};
use superstep_trace::memtrace_v1::{Reader, Record, import};
use superstep_trace::{Op, StreamId};

#[derive(Arbitrary, Debug)]
enum Item {
    Name(String),
    Access {
        cta: [u32; 3],
        address: u8,
        offset: u16,
        sm: u32,
        op: u8,
        width: u32,
    },
    End,
    Bytes(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
struct Input {
    record_bytes: Option<u8>,
    has_line_feed: bool,
    items: Vec<Item>,
}

fn bytes(input: &Input) -> Vec<u8> {
    let mut file = vec![input.record_bytes.unwrap_or(24)];
    if input.has_line_feed {
        file.push(b'\n');
    }
    for item in &input.items {
        match item {
            Item::Name(name) => file.extend(format!("{name}\n").bytes()),
            Item::Access {
                cta,
                address,
                offset,
                sm,
                op,
                width,
            } => {
                let record = Record {
                    cta: *cta,
                    address: edge(*address).wrapping_add((*offset).into()),
                    sm: *sm,
                    op: Op::ALL[usize::from(*op) % Op::ALL.len()],
                    width_bytes: *width,
                };
                file.extend(record.to_bytes().unwrap_or([1; 24]));
            }
            Item::End => file.extend([0; 24]),
            Item::Bytes(bytes) => file.extend(bytes),
        }
    }
    file
}

fuzz_target!(|input: Input| {
    let bytes = bytes(&input);
    if let Ok(reader) = Reader::new(&bytes[..], "fuzzed") {
        reader.for_each(drop);
    }
    let (file, folder) = (scratch().join("file"), scratch().join("capture"));
    write(&file, &bytes);
    if import(&[(StreamId(0), &file)], &folder).is_ok() {
        assert_whole(&folder);
    }
});
