//! Export to and import from the thesis's format.

mod common;

use common::{any_group, groups, launch, write};
use proptest::prelude::*;
use std::path::Path;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::memtrace_v1::{self, Item, Reader, Record};
use superstep_trace::*;

const BASE: u64 = 0x7f00_0000_0000;

/// Reads a file using only the description of the format. Returns each launch's kernel and the words of its records.
fn independent_reader(bytes: &[u8]) -> Vec<(String, Vec<[u64; 3]>)> {
    assert_eq!(bytes[0], 24);
    assert_eq!(bytes[1], b'\n');
    let (mut at, mut launches) = (2, vec![]);
    while at < bytes.len() {
        let name_end = at + bytes[at..].iter().position(|&byte| byte == 10).unwrap();
        let name = String::from_utf8(bytes[at..name_end].to_vec()).unwrap();
        let mut records = vec![];
        at = name_end + 1;
        loop {
            let word = |i: usize| {
                u64::from_le_bytes(bytes[at + i * 8..at + i * 8 + 8].try_into().unwrap())
            };
            let record = [word(0), word(1), word(2)];
            at += 24;
            if record == [0; 3] {
                break;
            }
            records.push(record);
        }
        launches.push((name, records));
    }
    launches
}

/// Reads the kernel's name and the accesses of each launch.
fn read(path: &Path) -> Vec<(String, Vec<Record>)> {
    let mut launches: Vec<(String, Vec<Record>)> = Vec::new();
    for item in Reader::open(path).unwrap() {
        match (item.unwrap(), launches.last_mut()) {
            (Item::Launch(name), _) => launches.push((name, Vec::new())),
            (Item::Access(record), Some((_, records))) => records.push(record),
            _ => {}
        }
    }
    launches
}

fn export(capture: &Capture) -> Vec<u8> {
    let mut bytes = Vec::new();
    memtrace_v1::export(capture, StreamId(0), &mut bytes).unwrap();
    bytes
}

fn records_of(capture: &Capture) -> Vec<(u32, Record)> {
    let (groups, error) = groups(capture);
    assert!(error.is_none());
    let records = |(number, group): &(u32, AccessGroup)| {
        let mut launches = capture.launches().map(|record| record.launch);
        let launch = launches.find(|it| (it.stream, it.launch) == (StreamId(0), LaunchId(*number)));
        let cta = launch.unwrap().cta_coordinates(group.cta);
        let op = match capture.sites().get(group.site).unwrap().op {
            Op::AtomicOther => Op::AtomicCas,
            op => op,
        };
        let (number, sm, width_bytes) = (*number, group.sm, group.width_bytes);
        let addresses = group.active_addresses().to_vec();
        addresses.into_iter().map(move |address| {
            (
                number,
                Record {
                    cta,
                    address,
                    sm,
                    op,
                    width_bytes,
                },
            )
        })
    };
    groups.iter().flat_map(records).collect()
}

#[test]
fn an_export_is_byte_exact() {
    let folder = tempfile::tempdir().unwrap();
    let mut group = AccessGroup {
        site: SiteId::new(1, 1),
        cta: 7 * 3 + 7 + 2,
        sm: 6,
        mask: 0b101,
        width_bytes: 8,
        ..AccessGroup::EMPTY
    };
    group.addresses[..2].copy_from_slice(&[0x0102_0304_0506_0708, 0x10]);
    let capture = write(folder.path(), BASE, &[vec![vec![group]], vec![]]);
    let mut expected = b"\x18\n_Z6kernelPf\n".to_vec();
    for address in [0x0102_0304_0506_0708u64, 0x10] {
        // CTA (2, 1, 1), store of 8 bytes on SM 6.
        expected.extend([1, 0, 1, 0, 2, 0, 0, 0]);
        expected.extend(address.to_le_bytes());
        expected.extend([8, 0, 0, 0x20, 6, 0, 0, 0]);
    }
    expected.extend([0; 24]);
    expected.extend(b"_Z6kernelPf\n");
    expected.extend([0; 24]);
    assert_eq!(export(&capture), expected);
}

#[test]
fn files_with_and_without_first_line_feed_are_read() {
    let record = Record {
        cta: [1, 2, 3],
        address: 4,
        sm: 5,
        op: Op::AtomicXor,
        width_bytes: 6,
    };
    let body = [
        b"kernel\n".as_slice(),
        &record.to_bytes().unwrap(),
        &[0; 24],
    ]
    .concat();
    for start in [b"\x18\n".as_slice(), b"\x18"] {
        let items: Vec<_> = Reader::new([start, &body].concat().as_slice(), "x")
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(
            items,
            [
                Item::Launch("kernel".into()),
                Item::Access(record),
                Item::End
            ]
        );
    }
}

#[test]
fn records_that_look_like_text_are_not_names() {
    let address = u64::from_le_bytes(*b"_Zfoo\n\x18\n");
    let record = Record {
        cta: [0x0a41_0a41, 0x0a0a, 0x0a0a],
        address,
        sm: 0x0a0a_0a0a,
        op: Op::Load,
        width_bytes: 0x0a_0a0a,
    };
    let bytes = [
        b"\x18\na\n".as_slice(),
        &record.to_bytes().unwrap(),
        &[0; 24],
        b"b\n",
        &[0; 24],
    ]
    .concat();
    let items: Vec<_> = Reader::new(bytes.as_slice(), "x")
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let name = |name: &str| Item::Launch(name.into());
    assert_eq!(
        items,
        [
            name("a"),
            Item::Access(record),
            Item::End,
            name("b"),
            Item::End
        ]
    );
}

#[test]
fn unrepresentable_launches_are_errors() {
    let record = Record {
        cta: [u32::MAX, 0xffff, 0xffff],
        address: 0,
        sm: 0,
        op: Op::Load,
        width_bytes: (1 << 28) - 1,
    };
    assert_eq!(
        Record::from_bytes(&record.to_bytes().unwrap()),
        Some(record)
    );
    assert_eq!(
        Record {
            cta: [0, 0x1_0000, 0],
            ..record
        }
        .to_bytes(),
        None
    );
    assert_eq!(
        Record {
            cta: [0, 0, 0x1_0000],
            ..record
        }
        .to_bytes(),
        None
    );
    assert_eq!(
        Record {
            width_bytes: 1 << 28,
            ..record
        }
        .to_bytes(),
        None
    );

    let folder = tempfile::tempdir().unwrap();
    let mut capture = CaptureBuilder::new(folder.path(), &common::module());
    let launch = Launch {
        grid: [1, 70_000, 1],
        ..launch()
    };
    let group = AccessGroup {
        site: SiteId::new(1, 0),
        ..testing::group(0, 65_536, [0])
    };
    capture.launch(launch, &[[group]]);
    let error = memtrace_v1::export(&capture.finish(), StreamId(0), &mut Vec::new()).unwrap_err();
    let expected =
        "failed to export: launch 0 of stream 0: CTA [0, 65536, 0] with an access of 4 bytes";
    assert!(error.to_string().starts_with(expected), "{error}");
}

#[test]
fn damage_is_reported_with_its_offset() {
    let error = |bytes: &[u8]| {
        let reader = Reader::new(bytes, "pipe");
        let error = match reader {
            Ok(reader) => reader.map(|item| item.err()).last().flatten(),
            Err(error) => Some(error),
        };
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(error(b"").contains("pipe at byte 0: the file is empty"));
    assert!(error(b"\x10\n").contains("expected 24-byte records, found 16"));
    assert!(error(b"\x18\nkernel").contains("pipe at byte 2: expected a kernel's name and LF"));
    assert!(
        error(b"\x18\n\x00\x01\n")
            .contains("pipe at byte 2: expected a kernel's name, found bytes")
    );
    assert!(error(b"\x18\nk\n1234").contains("pipe at byte 4: the file ends inside a launch"));
    let unknown = [b"\x18\nk\n".as_slice(), &[0; 19], &[0xe0, 0, 0, 0, 0]].concat();
    assert!(error(&unknown).contains("pipe at byte 4: the record's type is 14"));
    assert_eq!(error(b"\x18\n"), "");
}

#[test]
fn file_names_contain_streams() {
    assert_eq!(memtrace_v1::file_name(StreamId(12)), "MemTrace-pipe-12");
    assert_eq!(
        memtrace_v1::parse_file_name("MemTrace-pipe-12"),
        Some(StreamId(12))
    );
    assert_eq!(memtrace_v1::parse_file_name("MemTrace-pipe-x"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn export_import_and_a_separate_reader_agree(launches in proptest::collection::vec(
        proptest::collection::vec(proptest::collection::vec(any_group(BASE), 1..20), 0..3), 0..4)) {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let capture = write(&first, BASE, &launches);
        let expected = records_of(&capture);
        let file = folder.path().join("MemTrace-pipe-0");
        let written = memtrace_v1::export_file(&capture, StreamId(0), &file).unwrap();
        prop_assert_eq!(written, expected.len() as u64);
        let bytes = std::fs::read(&file).unwrap();

        let independent = independent_reader(&bytes);
        prop_assert_eq!(independent.len(), launches.len());
        let ours = read(&file);
        prop_assert_eq!(ours.len(), launches.len());
        let mut rest = expected.iter();
        for ((name, words), (our_name, records)) in independent.iter().zip(&ours) {
            prop_assert_eq!((name.as_str(), our_name.as_str()), ("_Z6kernelPf", "_Z6kernelPf"));
            prop_assert_eq!(words.len(), records.len());
            for (&[cta, address, sm_op_width], record) in words.iter().zip(records) {
                let access = rest.next().unwrap().1;
                prop_assert_eq!(&access, record);
                prop_assert_eq!([cta >> 32, cta >> 16 & 0xffff, cta & 0xffff], access.cta.map(u64::from));
                prop_assert_eq!(address, access.address);
                let parts = (sm_op_width >> 32, sm_op_width >> 28 & 15, sm_op_width & 0xfff_ffff);
                prop_assert_eq!(parts, (access.sm.into(), access.op.code().into(), access.width_bytes.into()));
            }
        }
        prop_assert!(rest.next().is_none());

        memtrace_v1::import(&[(StreamId(0), &file)], &second).unwrap();
        let imported = Capture::open(&second).unwrap();
        prop_assert!(imported.complete, "{:?}", imported.problems);
        prop_assert_eq!(records_of(&imported), expected);
        prop_assert_eq!(export(&imported), bytes);
    }

    #[test]
    fn any_bytes_are_handled(bytes: Vec<u8>, start in prop_oneof![Just(""), Just("\x18\n"), Just("\x18\nk\n")]) {
        let bytes = [start.as_bytes(), &bytes].concat();
        if let Ok(reader) = Reader::new(bytes.as_slice(), "x") {
            prop_assert!(reader.count() <= bytes.len());
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("MemTrace-pipe-0");
        std::fs::write(&file, &bytes).unwrap();
        let _ = memtrace_v1::import(&[(StreamId(0), &file)], &folder.path().join("capture"));
    }
}
