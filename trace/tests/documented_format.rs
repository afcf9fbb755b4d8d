//! A second reader, written from `docs/trace-format.md` alone, to check that the page matches the library's output.

mod common;
#[path = "documented_format/decode.rs"]
mod decode;

use common::documented::chunks;
use common::{any_group, any_loop, write};
use decode::decode;
use proptest::prelude::*;
use std::path::Path;
use superstep_testing as testing;
use superstep_trace::*;
use xxhash_rust::xxh3::xxh3_64;

const BASE: u64 = 0x7f00_0000_0000;

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d049bb133111eb);
    x ^ (x >> 31)
}

/// Computes the digest of groups in the memory of `common::write`: three 64 KiB blocks at 1 MiB intervals, the third a
/// symbol.
fn digest(stream: u64, launch: u64, groups: &[AccessGroup]) -> String {
    let p = 0x9e3779b97f4a7c15u64;
    let sites = common::module().sites;
    let launch_seed = mix(mix(p ^ stream).wrapping_add(launch));
    let mut sums = [0u64; 2];
    for group in groups {
        let op = u64::from(sites[group.site.local() as usize].op.code());
        let site = u64::from(group.site.0) << 32 | u64::from(group.width_bytes);
        let seed_0 = mix(mix(launch_seed ^ site).wrapping_add(u64::from(group.cta) << 8 | op));
        let seed_1 = mix(seed_0 ^ p);
        for (thread, address) in group.threads() {
            let (allocation, offset) = ((address - BASE) >> 20, (address - BASE) & 0xfffff);
            let (key, offset) = match (allocation, offset) {
                (_, 0x10000..) => (0, address),
                (2, _) => (
                    mix(xxh3_64(b"table").wrapping_add(p.wrapping_mul(2))),
                    offset,
                ),
                _ => (mix(p.wrapping_add(allocation)), offset),
            };
            let (place, thread) = (mix(key.wrapping_add(offset)), u64::from(thread));
            let first = place
                .wrapping_add(thread.wrapping_mul(0xd6e8feb86659fd93))
                .wrapping_add(seed_0);
            let second = place
                .rotate_left(32)
                .wrapping_add(thread.wrapping_mul(0xa0761d6478bd642f))
                ^ seed_1;
            sums = [
                sums[0].wrapping_add(mix(first)),
                sums[1].wrapping_add(mix(second)),
            ];
        }
    }
    format!("{:016x}{:016x}", sums[0], sums[1])
}

/// Compares the examples in the page's table of events with the library's output.
#[test]
fn events_are_written_as_documented() {
    let untraced = |kernel: Option<&str>| {
        Event::Gap(Gap::UntracedKernel {
            kernel: kernel.map(str::to_owned),
        })
    };
    let transport = Transport {
        bytes: 1,
        pieces: 2,
        groups: 3,
        accesses: 4,
    };
    let imported = Event::Allocate(Allocation {
        address: 4096,
        bytes: 8,
        kind: AllocationKind::Imported,
        ..Allocation::default()
    });
    const IMPORTED: &str =
        r#"{"allocate":{"sequence":0,"id":0,"address":4096,"bytes":8,"kind":"imported"}}"#;
    let events = [
        (Event::Gap(Gap::ArrayCopy), r#"{"gap":"array_copy"}"#),
        (
            Event::Gap(Gap::GraphMemoryNode),
            r#"{"gap":"graph_memory_node"}"#,
        ),
        (Event::Gap(Gap::SharedMemory), r#"{"gap":"shared_memory"}"#),
        (imported, IMPORTED),
        (
            untraced(Some("_Zk")),
            r#"{"gap":{"untraced_kernel":{"kernel":"_Zk"}}}"#,
        ),
        (untraced(None), r#"{"gap":{"untraced_kernel":{}}}"#),
        (
            Event::Transport(transport),
            r#"{"transport":{"bytes":1,"pieces":2,"groups":3,"accesses":4}}"#,
        ),
        (Event::Note("text".into()), r#"{"note":"text"}"#),
    ];
    let folder = tempfile::tempdir().unwrap();
    let capture = CaptureWriter::create(folder.path(), &Header::new(Backend::Cpu)).unwrap();
    for (event, _) in &events {
        capture.event(event).unwrap();
    }
    capture.finish(&Outcome::Finished).unwrap();
    let file = std::fs::read(folder.path().join("events.sst")).unwrap();
    let written = chunks(&file, 1, 0);
    for ((_, expected), chunk) in events.iter().zip(&written[1..]) {
        assert_eq!(std::str::from_utf8(&chunk.3).unwrap(), *expected);
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/trace-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    for name in [
        "`gap`",
        "`\"array_copy\"`",
        "`\"graph_memory_node\"`",
        "`\"shared_memory\"`",
        "`\"imported\"`",
        "`transport`",
        "`note`",
    ] {
        assert!(page.contains(name), "{name} is not on the page");
    }
}

#[test]
fn opaque_launches_are_written_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = testing::CaptureBuilder::new(folder.path(), &common::module());
    capture.allocate(BASE, 64, AllocationKind::Device);
    capture.opaque(Some("_Zgemm"));
    let block = Block {
        address: 4096,
        bytes: 8,
        rows: 2,
        row_pitch: 8,
        planes: 3,
        plane_pitch: 32,
    };
    let call = KnownCall {
        function: "f".into(),
        reads: Vec::new(),
        writes: vec![block],
    };
    capture.opaque_call(None, Some(call));
    capture.launch(testing::launch("_Zk", 1, 32), &[[]; 0]);
    let capture = capture.finish();
    assert!(capture.complete, "{:?}", capture.problems);
    let events = chunks(
        &std::fs::read(folder.path().join("events.sst")).unwrap(),
        1,
        0,
    );
    let text = |number: usize| std::str::from_utf8(&events[number].3).unwrap();
    assert_eq!(
        text(3),
        r#"{"opaque_launch":{"sequence":1,"stream":0,"kernel":"_Zgemm","geometry":{"grid":[4,1,1],"block":[64,1,1]}}}"#
    );
    assert_eq!(text(4), r#"{"opaque_end":{"launch":1,"elapsed_ns":700}}"#);
    assert_eq!(
        text(5),
        concat!(
            r#"{"opaque_launch":{"sequence":2,"stream":0,"call":{"function":"f","reads":[],"writes":[{"address":4096,"#,
            r#""bytes":8,"rows":2,"row_pitch":8,"planes":3,"plane_pitch":32}]}}}"#
        )
    );
    let block =
        |timed: superstep_trace::TimedEvent<superstep_trace::HostEvent<'_>>| match timed.event {
            HostEvent::OpaqueLaunch(launch) => Some(launch.call.as_ref()?.writes[0]),
            _ => None,
        };
    let block = capture.replay().find_map(block).unwrap();
    let ranges: Vec<_> = block.ranges().collect();
    assert_eq!(ranges, [(4096, 16), (4128, 16), (4160, 16)]);
    let opaque: Vec<_> = (capture.replay())
        .filter_map(|timed| match timed.event {
            HostEvent::OpaqueEnd { launch, end } => Some((launch.name(), end.elapsed_ns)),
            _ => None,
        })
        .collect();
    assert_eq!(opaque, [("_Zgemm", 700), (OpaqueLaunch::UNNAMED, 700)]);
}

fn any_chunk() -> impl Strategy<Value = Vec<AccessGroup>> {
    prop_oneof![
        proptest::collection::vec(any_group(BASE), 1..40),
        any_loop(BASE)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn documented_reader_agrees(launches in proptest::collection::vec(
        proptest::collection::vec(any_chunk(), 0..3), 1..4)) {
        let folder = tempfile::tempdir().unwrap();
        let capture = write(folder.path(), BASE, &launches);

        let events = chunks(&std::fs::read(folder.path().join("events.sst")).unwrap(), 1, 0);
        let kinds: Vec<_> = events.iter().map(|chunk| chunk.0).collect();
        let expected = [vec![1, 2, 3, 3, 3], vec![3; 2 * launches.len()], vec![5]].concat();
        prop_assert_eq!(kinds, expected);
        let launch: serde_json::Value = serde_json::from_slice(&events[5].3).unwrap();
        prop_assert_eq!(&launch["launch"]["grid"], &serde_json::json!([7, 3, 2]));
        let end: serde_json::Value = serde_json::from_slice(&events[6].3).unwrap();
        prop_assert_eq!(&end["launch_end"]["outcome"], "completed");
        prop_assert_eq!(events.last().unwrap().3.as_slice(), b"\"finished\"");

        let mut stream = chunks(&std::fs::read(folder.path().join("stream-0.sst")).unwrap(), 2, 0);
        prop_assert_eq!(stream.pop().unwrap(), (5, 0, 0, Vec::new()));
        let mut read = stream.into_iter();
        for (number, chunks) in launches.iter().enumerate() {
            for groups in chunks {
                let (kind, launch, accesses, payload) = read.next().unwrap();
                prop_assert_eq!((kind, launch), (4, number as u32));
                prop_assert_eq!(accesses, groups.iter().map(|group| group.lanes() as u64).sum::<u64>());
                prop_assert_eq!(&decode(&payload), groups);
            }
        }

        for (launch, found) in testing::digests(&capture).unwrap() {
            let number = launch.launch.0;
            let expected = digest(0, u64::from(number), &launches[number as usize].concat());
            prop_assert_eq!(found.to_string(), expected);
        }
    }
}
