//! Tests for `accumulator`.

use super::*;
use std::collections::BTreeMap;
use superstep_trace::{CtaBlocks, Launch, LaunchId, StreamId};

fn launch(kernel: &str, ctas: u32) -> Launch {
    Launch {
        sequence: 0,
        stream: StreamId(0),
        launch: LaunchId(0),
        kernel: kernel.to_owned(),
        grid: [ctas, 1, 1],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        parent: None,
        device: 0,
    }
}

fn words_of(cta: u32, address: u64) -> AccessGroup {
    let mut group = AccessGroup {
        cta,
        width_bytes: 4,
        mask: u32::MAX,
        ..AccessGroup::EMPTY
    };
    for (lane, place) in group.addresses.iter_mut().enumerate() {
        *place = address + 4 * lane as u64;
    }
    group
}

/// With two workers, each CTA reads half of what it wrote and half of what the next CTA wrote.
#[test]
fn blocks_of_ctas_have_the_sums_of_their_ctas() {
    let received = |blocks: CtaBlocks| -> BTreeMap<(u32, u32), (u64, u64)> {
        let shadow = Shadow::new(blocks);
        let mut accumulators = [Accumulator::default(), Accumulator::default()];
        let mut parts = Parts::default();
        for (number, (op, kernel)) in (0..).zip([(Op::Store, "write"), (Op::Load, "read")]) {
            let running = shadow.begin(number, &launch(kernel, 20)).unwrap();
            for cta in 0..20 {
                let shift = 64 * u64::from(number);
                let group = words_of(cta, 0x1000_0000 + 128 * u64::from(cta) + shift);
                // Bytes that are loaded twice count as received only once.
                for _ in 0..2 {
                    accumulators[cta as usize % 3 / 2].group(&shadow, &running, op, &group);
                }
            }
            accumulators
                .iter_mut()
                .for_each(|accumulator| accumulator.finish(&running));
            parts = running.found().1;
        }
        let mut sums = BTreeMap::new();
        for part in parts.received {
            let blocks = (
                blocks.first(part.source_cta),
                blocks.first(part.receiver_cta),
            );
            assert_eq!(blocks, (part.source_cta, part.receiver_cta));
            let sum: &mut (u64, u64) = sums.entry(blocks).or_default();
            *sum = (sum.0 + part.bytes, sum.1 + part.count);
        }
        sums
    };
    let blocks: CtaBlocks = "8".parse().unwrap();
    let mut merged = BTreeMap::new();
    for ((from, to), (bytes, count)) in received(CtaBlocks::default()) {
        let sum: &mut (u64, u64) =
            (merged.entry((blocks.first(from), blocks.first(to)))).or_default();
        *sum = (sum.0 + bytes, sum.1 + count);
    }
    assert_eq!(merged[&(0, 0)], (15 * 64, 15 * 16));
    assert_eq!(merged[&(8, 0)], (64, 16));
    assert_eq!(received(blocks), merged);
}

#[test]
fn workers_share_memory_and_many_parts_are_taken_early() {
    const CTAS: u32 = 80_000;
    let shadow = Shadow::default();
    let (write, read) = (launch("write", CTAS), launch("read", CTAS));
    let (write, read) = (
        shadow.begin(0, &write).unwrap(),
        shadow.begin(1, &read).unwrap(),
    );
    let work = |running: &Running, op, shift: u64| -> Vec<Received> {
        let worker = |number: u32| {
            let (mut accumulator, mut early) = (Accumulator::default(), Vec::new());
            for cta in (number..CTAS).step_by(2) {
                let address = 0x1000_0000 + 128 * u64::from(cta) + shift;
                accumulator.group(&shadow, running, op, &words_of(cta, address));
                let parts = accumulator.take_early_parts();
                early.extend(parts.into_iter().flat_map(|parts| parts.received));
            }
            accumulator.finish(running);
            early
        };
        std::thread::scope(|scope| {
            let workers = [0, 1].map(|number| scope.spawn(move || worker(number)));
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap())
                .collect()
        })
    };
    assert_eq!(work(&write, Op::Store, 0), []);
    // Each CTA but the last reads half of what it wrote and half of what the next one wrote.
    let early = work(&read, Op::Load, 64);
    let (sums, parts) = read.found();
    assert!(early.len() >= 2 * MANY_PARTS && !parts.received.is_empty());
    let mut received = [early, parts.received].concat();
    received.sort_unstable();
    let all = 2 * CTAS as usize - 1;
    assert_eq!(received.len(), all);
    assert!(
        received
            .iter()
            .all(|part| (part.bytes, part.count) == (64, 16))
    );
    assert!(received.windows(2).all(|pair| pair[0] < pair[1]));
    let bytes = 64 * all as u64;
    assert_eq!(
        (sums.loaded.communicated, sums.loaded.uninitialised),
        (bytes, 64)
    );
    assert_eq!(sums.loads.threads, 32 * u64::from(CTAS));
    assert_eq!(parts.first_read.len(), 1);
    assert_eq!(parts.first_read[0].stored_bytes, bytes);
}
