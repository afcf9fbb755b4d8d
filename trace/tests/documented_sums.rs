//! Checks that in-situ captures are written as documented; `documented_format.rs` checks traces.

mod common;

use common::documented::{Bytes, chunks};
use std::path::Path;
use superstep_testing as testing;
use superstep_trace::*;

fn decode_parts(payload: &[u8]) -> Parts {
    let mut bytes = Bytes(payload);
    let rows = bytes.varint();
    let ids: [_; 4] = std::array::from_fn(|_| bytes.sums(rows));
    let counts = bytes.numbers(rows);
    let received = (counts.iter().enumerate()).map(|(row, &count)| Received {
        source_launch: ids[0][row],
        receiver_launch: ids[1][row],
        source_cta: ids[2][row],
        receiver_cta: ids[3][row],
        bytes: (4 * count).wrapping_add(bytes.signed()),
        count,
    });
    let received = received.collect();
    let rows = bytes.varint();
    let launches: [_; 2] = std::array::from_fn(|_| bytes.sums(rows));
    let amounts: [_; 3] = std::array::from_fn(|_| bytes.numbers(rows));
    assert!(bytes.0.is_empty());
    let first_read = (0..rows as usize).map(|row| FirstRead {
        source_launch: launches[0][row],
        receiver_launch: launches[1][row],
        stored_bytes: amounts[0][row],
        several_bytes: amounts[1][row],
        perhaps_again_bytes: amounts[2][row],
    });
    Parts {
        received,
        first_read: first_read.collect(),
    }
}

#[test]
fn sums_and_parts_are_written_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = testing::CaptureBuilder::new(folder.path(), &common::module());
    let launches = [0, 1].map(|_| capture.begin(testing::launch("_Zk", 1, 32)));
    let tally = |threads| Tally {
        threads,
        bytes: 4 * threads,
        warps: 1,
    };
    let sums = LaunchSums {
        loads: tally(2),
        stores: tally(3),
        atomics: tally(1),
        loaded: LoadedBytes {
            communicated: 5,
            own: 1,
            input: 2,
            uninitialised: 3,
            unknown: 1,
            local: 0,
            perhaps_local: 4,
        },
        several_writers_bytes: 8,
        racing_bytes: 4,
        ..LaunchSums::new(launches[1].stream, launches[1].launch)
    };
    let received = Received {
        source_launch: 0,
        source_cta: 1,
        receiver_launch: 1,
        receiver_cta: 2,
        bytes: 12,
        count: 3,
    };
    let first_read = FirstRead {
        source_launch: 0,
        receiver_launch: 1,
        stored_bytes: 8,
        several_bytes: 2,
        perhaps_again_bytes: 1,
    };
    capture.event(&Event::Sums(sums.clone()));
    capture.end_with(&launches[1], 6, LaunchOutcome::Completed);
    let others = [(0, 5, 6), (7, 1, 0)].map(|(source_cta, receiver_cta, bytes)| Received {
        source_cta,
        receiver_cta,
        bytes,
        ..received
    });
    capture.parts(Parts {
        received: vec![received, others[0], others[1]],
        first_read: Vec::new(),
    });
    capture.parts(Parts {
        received: Vec::new(),
        first_read: vec![first_read],
    });
    let capture = capture.finish();
    assert!(capture.complete, "{:?}", capture.problems);
    let file = std::fs::read(folder.path().join("events.sst")).unwrap();
    let chunks = chunks(&file, 1, 0);
    let texts: Vec<_> = (chunks.iter().filter(|chunk| chunk.0 == 3))
        .map(|chunk| std::str::from_utf8(&chunk.3).unwrap())
        .collect();
    let expected = concat!(
        r#"{"sums":{"stream":0,"launch":1,"loads":{"threads":2,"bytes":8,"warps":1},"#,
        r#""stores":{"threads":3,"bytes":12,"warps":1},"atomics":{"threads":1,"bytes":4,"warps":1},"#,
        r#""loaded":{"communicated":5,"own":1,"input":2,"uninitialised":3,"unknown":1,"local":0,"perhaps_local":4},"#,
        r#""several_writers_bytes":8,"racing_bytes":4}}"#
    );
    assert!(texts.contains(&expected), "{expected} is not in {texts:?}");
    let parts: Vec<_> = (chunks.iter().filter(|chunk| chunk.0 == 6))
        .map(|(_, launch, accesses, payload)| (*launch, *accesses, decode_parts(payload)))
        .collect();
    let in_order = vec![others[0], received, others[1]];
    let expected = [
        (in_order.clone(), Vec::new()),
        (Vec::new(), vec![first_read]),
    ];
    let expected = expected.map(|(received, first_read)| {
        let parts = Parts {
            received,
            first_read,
        };
        (0, 0, parts)
    });
    assert_eq!(parts, expected);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/trace-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    let names = texts.iter().filter(|text| text.contains("\"sums\""));
    let names = names.flat_map(|text| text.split('"').skip(1).step_by(2));
    for name in names {
        let shown = [format!("`{name}`"), format!("\"{name}\"")];
        assert!(
            shown.iter().any(|name| page.contains(name)),
            "{name} is not on the page"
        );
    }
    let read = capture.launches().nth(1).unwrap();
    assert_eq!(read.sums, Some(&sums));
    assert_eq!(
        (read.received, read.first_read),
        (&in_order[..], &[first_read][..])
    );
}
