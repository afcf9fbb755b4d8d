//! Damage that checksums do not reveal: chunk contents are changed, and their checksums recomputed.

mod common;

use common::{any_group, any_loop, groups, write};
use proptest::prelude::*;
use std::ops::Range;
use superstep_testing as testing;
use superstep_trace::*;
use xxhash_rust::xxh3::xxh3_64;

const BASE: u64 = 0x7f00_0000_0000;
const FILE_HEADER: usize = 32;
const CHUNK_HEADER: usize = 48;

/// Returns the ranges of a file's chunks, including headers.
fn chunks(file: &[u8]) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let mut start = FILE_HEADER;
    while start < file.len() {
        let stored = u32::from_le_bytes(file[start + 28..start + 32].try_into().unwrap());
        let end = start + CHUNK_HEADER + stored as usize;
        chunks.push(start..end);
        start = end;
    }
    chunks
}

/// Recomputes the two checksums of a chunk.
fn seal(chunk: &mut [u8]) {
    let payload = xxh3_64(&chunk[CHUNK_HEADER..]);
    chunk[32..40].copy_from_slice(&payload.to_le_bytes());
    let header = xxh3_64(&chunk[..40]);
    chunk[40..48].copy_from_slice(&header.to_le_bytes());
}

/// Changes bytes of one chunk, or of its header, in a file of the capture in `folder`.
fn change(folder: &std::path::Path, file: &str, chunk: usize, changes: &[(usize, u8)]) {
    let path = folder.join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    let chunks = chunks(&bytes);
    let chunk = &mut bytes[chunks[chunk % chunks.len()].clone()];
    for (at, value) in changes {
        let at = at % chunk.len();
        chunk[at] = *value;
    }
    seal(chunk);
    std::fs::write(path, bytes).unwrap();
}

/// Reads everything in a capture.
fn read(folder: &std::path::Path) -> Result<(), TraceError> {
    let capture = Capture::open(folder)?;
    capture.verify()?;
    capture.groups(|_, _| ())?;
    for stream in capture.streams() {
        memtrace_v1::export(&capture, stream, &mut std::io::sink())?;
    }
    testing::digests(&capture)?;
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn changed_chunks_are_read_or_refused(
        file in prop::sample::select(vec!["events.sst", "stream-0.sst"]),
        chunk: usize,
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        accesses in prop_oneof![prop::collection::vec(any_group(BASE), 1..300), any_loop(BASE)],
    ) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), BASE, &[vec![accesses]]);
        change(folder.path(), file, chunk, &changes);
        if let Err(error) = read(folder.path()) {
            let is_damage = matches!(
                error,
                TraceError::Damaged { .. } | TraceError::UnknownSite { .. } | TraceError::Export { .. }
            );
            prop_assert!(is_damage, "{error}");
        }
    }
}

/// Writes two launches and a chunk of parts, whose index is [`PARTS_CHUNK`].
fn with_parts(folder: &std::path::Path) {
    let mut capture = testing::CaptureBuilder::new(folder, &common::module());
    for _ in 0..2 {
        capture.launch(testing::launch("_Zk", 9, 32), &[[]; 0]);
    }
    let received = |number: u32| Received {
        source_launch: 0,
        source_cta: number % 9,
        receiver_launch: 1,
        receiver_cta: number / 9,
        bytes: 4,
        count: 1,
    };
    capture.parts(Parts {
        received: (0..12).map(received).collect(),
        first_read: Vec::new(),
    });
    assert!(capture.finish().complete);
}

const PARTS_CHUNK: usize = 6;

proptest! {
    #[test]
    fn changed_parts_are_read_or_refused(
        changes in prop::collection::vec((CHUNK_HEADER..200, any::<u8>()), 1..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        with_parts(folder.path());
        change(folder.path(), "events.sst", PARTS_CHUNK, &changes);
        if let Err(error) = read(folder.path()) {
            prop_assert!(matches!(error, TraceError::Damaged { .. }), "{error}");
        }
    }
}

#[test]
fn parts_that_end_early_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    with_parts(folder.path());
    // One row too many.
    change(
        folder.path(),
        "events.sst",
        PARTS_CHUNK,
        &[(CHUNK_HEADER, 13)],
    );
    let capture = Capture::open(folder.path()).unwrap();
    assert!(capture.damaged && !capture.complete);
    assert!(
        capture.problems[0].contains("the parts are malformed"),
        "{:?}",
        capture.problems
    );
}

fn one_chunk(folder: &std::path::Path, lanes: u32) {
    // All distances differ, so that the addresses take up some bytes.
    let group = |number: u64| AccessGroup {
        site: SiteId::new(1, 0),
        mask: u32::MAX >> (32 - lanes),
        width_bytes: 4,
        addresses: std::array::from_fn(|lane| BASE + number * number % 1009 * 4 + lane as u64 * 4),
        ..AccessGroup::EMPTY
    };
    write(folder, BASE, &[vec![(0..1000).map(group).collect()]]);
}

/// A reader must not allocate memory just because a damaged header claims a large size.
#[test]
fn claimed_sizes_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    // Length of the contents: 1 GiB, the limit for a chunk.
    one_chunk(folder.path(), 32);
    change(
        folder.path(),
        "stream-0.sst",
        0,
        &[(24, 0), (25, 0), (26, 0), (27, 0x40)],
    );
    let capture = Capture::open(folder.path()).unwrap();
    let problems = capture.verify().unwrap();
    assert!(
        problems
            .iter()
            .any(|problem| problem.contains("does not decompress")),
        "{problems:?}"
    );
    // Number of accesses.
    one_chunk(folder.path(), 32);
    change(folder.path(), "stream-0.sst", 0, &[(23, 0x7f)]);
    let capture = Capture::open(folder.path()).unwrap();
    assert!(
        capture.damaged && groups(&capture).0.is_empty(),
        "{:?}",
        capture.problems
    );
    assert!(
        capture.problems[0].contains("cannot hold"),
        "{:?}",
        capture.problems
    );
}

/// The launch's end event claims more accesses than there are, and its grid and memory are impossibly large.
#[test]
fn launch_that_claims_too_many_accesses_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = testing::CaptureBuilder::new(folder.path(), &common::module());
    capture.allocate(BASE, 1 << 60, AllocationKind::Device);
    capture.copy(CopyDirection::HostToDevice, BASE, 4096, 1 << 60);
    let launch = capture.begin(testing::launch("_Zk", u32::MAX, 1024));
    capture.end_with(&launch, 1 << 60, LaunchOutcome::Completed);
    let capture = capture.finish();
    assert!(!capture.complete);
    assert!(
        capture.problems[0]
            .contains("launch 0 performed 1152921504606846976 thread accesses, but the file has 0"),
        "{:?}",
        capture.problems
    );
    read(folder.path()).unwrap();
}
