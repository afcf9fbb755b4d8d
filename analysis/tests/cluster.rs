//! Checks that the three steps of an analysis on many machines give the same result as an analysis on one, for
//! generated captures and any number of buckets.

use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use superstep_analysis::cluster::{Kind, Map, Merged, Row, combine, reduce, tasks};
use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::{Analysis, AnalysisError, analyse};
use superstep_testing::synthetic;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{
    AccessGroup, AllocationId, AllocationKind, Capture, CopyDirection, Launch, Op, SiteId, StreamId,
};

/// Runs the steps and, between them, does the work of a cluster: grouping rows by bucket and sorting them.
fn on_cluster(
    capture: &Arc<Capture>,
    accesses: u64,
    buckets: u32,
    limit: &MemoryLimit,
) -> Result<(Analysis, usize), AnalysisError> {
    let mut rows: Vec<Row> = Vec::new();
    // Tasks can finish in any order.
    for task in tasks(capture, accesses).into_iter().rev() {
        for row in Map::new(capture.clone(), &task, buckets) {
            rows.push(row?);
        }
    }
    let shuffled = rows.len();
    let by_bucket = |mut rows: Vec<Row>| {
        rows.sort_by_key(|row| (row.bucket, row.chunk, row.number));
        let parts = rows.chunk_by(|a, b| a.bucket == b.bucket);
        parts.map(<[Row]>::to_vec).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for rows in by_bucket(rows) {
        let (bucket, mut rows) = (rows[0].bucket, rows.into_iter());
        for row in reduce(capture, (bucket, buckets), limit, &mut || Ok(rows.next()))? {
            found.push(row?);
        }
    }
    let mut merged = Merged::new(capture, limit);
    for rows in by_bucket(found) {
        let (bucket, mut rows) = (rows[0].bucket, rows.into_iter());
        for row in combine(capture, bucket, limit, &mut || Ok(rows.next()))? {
            merged.add(&row?)?;
        }
    }
    Ok((merged.finish(capture)?, shuffled))
}

#[derive(Clone, Debug)]
enum Step {
    Launch(u32, usize, Vec<Vec<AccessGroup>>),
    Allocate(u64, u64, bool),
    /// Index of the allocation among all allocations so far.
    Free(prop::sample::Index),
    Copy(bool, u64, u64),
    Memset(u64, u64),
    Opaque,
}

const BASE: u64 = 0x10_0000;
const OPS: [Op; 4] = [Op::Load, Op::Store, Op::AtomicAdd, Op::AtomicExch];

/// Generates groups at a few addresses around page boundaries, so that accesses overlap.
fn any_group() -> impl Strategy<Value = AccessGroup> {
    let width = prop_oneof![8 => prop::sample::select(vec![4u32, 4, 8, 1, 2, 16]), 1 => 3u32..40, 1 => 4000u32..9000];
    let position = (0u32..4, 0u32..2, 0u16..5, 0u64..40, 0u64..4);
    (
        width,
        position,
        0u32..4,
        prop_oneof![Just(u32::MAX), 1u32..],
        any::<u64>(),
    )
        .prop_map(
            |(width, (cta, warp, site, first, page), pattern, mask, seed)| {
                let mask = if width > 64 { 1 } else { mask };
                let base = BASE + page * 4096 - 40 + first;
                let lanes = u64::from(mask.count_ones());
                let addresses = (0..lanes).map(|k| match pattern {
                    0 | 1 => base + k * u64::from(width),
                    2 => base,
                    _ => base + seed.rotate_left(k as u32 * 7) % (3 * 4096),
                });
                let mut group = testing::group(site, cta, addresses);
                (group.mask, group.width_bytes, group.warp) = (mask, width, warp);
                if site == OPS.len() as u16 {
                    group.site = SiteId::GRID_BARRIER;
                    group.mask = u32::MAX;
                }
                group
            },
        )
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let range = || {
        (0u64..(4 * 4096), prop_oneof![0u64..100, Just(2 * 4096)])
            .prop_map(|(at, bytes)| (BASE - 40 + at, bytes))
    };
    let chunks = prop::collection::vec(prop::collection::vec(any_group(), 1..6), 0..4);
    let step = prop_oneof![
        6 => (0u32..3, 0usize..2, chunks).prop_map(|(stream, kernel, chunks)| Step::Launch(stream, kernel, chunks)),
        2 => (range(), any::<bool>()).prop_map(|((at, bytes), device)| Step::Allocate(at, bytes, device)),
        1 => any::<prop::sample::Index>().prop_map(Step::Free),
        2 => (any::<bool>(), range()).prop_map(|(to_host, (at, bytes))| Step::Copy(to_host, at, bytes)),
        1 => range().prop_map(|(at, bytes)| Step::Memset(at, bytes)),
        1 => Just(Step::Opaque),
    ];
    prop::collection::vec(step, 1..14)
}

/// Writes a capture with these steps; it has no end record if `is_killed` is set.
fn written(folder: &Path, steps: &[Step], is_killed: bool) -> Capture {
    let sites = (0..).zip(OPS).map(|(local, op)| testing::site(local, op));
    let mut module = testing::module("f.cu", sites.collect(), &[("f", "f"), ("g", "g")]);
    module.grid_barriers = true;
    let mut capture = CaptureBuilder::new(folder, &module);
    let (mut live, mut at): (Vec<AllocationId>, u64) = (Vec::new(), 1);
    for step in steps {
        capture.at(at);
        at += 1;
        match step {
            Step::Launch(stream, kernel, chunks) => {
                let launch = Launch {
                    stream: StreamId(*stream),
                    ..testing::launch(["f", "g"][*kernel], 4, 64)
                };
                capture.launch(launch, chunks);
            }
            Step::Allocate(address, bytes, device) => {
                let kind =
                    [AllocationKind::Managed, AllocationKind::Device][usize::from(*device)].clone();
                live.push(capture.allocate(*address, *bytes, kind));
            }
            Step::Free(index) if !live.is_empty() => {
                let id = live.swap_remove(index.index(live.len()));
                capture.free(id);
            }
            Step::Free(_) => {}
            Step::Copy(true, source, bytes) => {
                capture.copy(CopyDirection::DeviceToHost, 1, *source, *bytes)
            }
            Step::Copy(false, to, bytes) => {
                capture.copy(CopyDirection::HostToDevice, *to, 1, *bytes)
            }
            Step::Memset(address, bytes) => capture.memset(*address, *bytes, 0),
            Step::Opaque => capture.opaque(None),
        }
    }
    if is_killed {
        capture.kill()
    } else {
        capture.finish()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn equals_one_machine(
        steps in any_steps(), is_killed in prop::bool::weighted(0.1), accesses in prop_oneof![Just(1u64), 1u64..200, Just(u64::MAX)],
        buckets in prop::sample::select(vec![1u32, 2, 7, 64, 512]), spills in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let capture = Arc::new(written(folder.path(), &steps, is_killed));
        let want = analyse(&capture, Options::everything()).unwrap();
        let mut limit = MemoryLimit::none();
        if spills {
            limit.bytes = 0;
        }
        let (found, _) = on_cluster(&capture, accesses, buckets, &limit).unwrap();
        prop_assert_eq!(found, want);
    }
}

#[test]
fn a_row_contains_many_accesses() {
    use synthetic::Pattern::{OnePage, Scattered};
    for (pattern, buckets) in [
        (Scattered, 1),
        (Scattered, 7),
        (OnePage, 64),
        (Scattered, 512),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let words = 1 << 16;
        synthetic::write(folder.path(), 4, words, |_| pattern).unwrap();
        let capture = Arc::new(Capture::open(folder.path()).unwrap());
        let accesses = 4 * words * synthetic::ACCESSES_PER_THREAD;
        let want = analyse(&capture, Options::everything()).unwrap();
        let (found, rows) =
            on_cluster(&capture, accesses / 4, buckets, &MemoryLimit::none()).unwrap();
        assert_eq!(found, want);
        // Each of the four tasks sends a packet for every 65536 records, and the rest of each bucket at the end.
        let limit = 4 * (buckets as usize + 1) + accesses as usize / 65_536;
        assert!(
            rows <= limit,
            "{rows} rows for {buckets} buckets, expected at most {limit}"
        );
    }
}

#[test]
fn unexpected_rows_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    synthetic::write(folder.path(), 2, 1 << 12, |_| synthetic::Pattern::Regular).unwrap();
    let capture = Arc::new(Capture::open(folder.path()).unwrap());
    let limit = MemoryLimit::none();
    let rows: Vec<Row> = Map::new(capture.clone(), &tasks(&capture, u64::MAX)[0], 1)
        .map(Result::unwrap)
        .collect();
    let outcome = |rows: Vec<Row>| {
        let mut rows = rows.into_iter();
        reduce(&capture, (0, 1), &limit, &mut || Ok(rows.next())).map(drop)
    };
    assert!(outcome(rows.clone()).is_ok());
    let fails = |change: &dyn Fn(&mut Vec<Row>)| {
        let mut rows = rows.clone();
        change(&mut rows);
        let error = outcome(rows).unwrap_err();
        assert!(matches!(error, AnalysisError::Part { .. }), "{error}");
    };
    fails(&|rows| rows[0].bytes.truncate(7));
    fails(&|rows| rows[0].bytes.truncate(100));
    fails(&|rows| rows[0].kind = Kind::Wide);
    fails(&|rows| {
        // Repeats the accesses of the first launch after those of the second.
        let first = rows[0].clone();
        rows.push(first);
    });
    assert!(Kind::from_number(6).is_err());
    assert_eq!(Kind::from_number(Kind::Wide as u8).unwrap(), Kind::Wide);
}
