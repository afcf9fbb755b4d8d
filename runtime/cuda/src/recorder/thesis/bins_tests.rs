//! Runs the protocol on host threads, with the same additions, waits and fences as on the device, and very small bins.

use crate::recorder::thesis::bins::{Bins, Shape, Taken};
use crate::recorder::thesis::groups::GroupBuilder;
use crate::recorder::thesis::layout::Bin;
use crate::recorder::thesis::record::Record;
use crate::recorder::thesis::record::tests::Fields;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};
use superstep_trace::AccessGroup;

/// Bins in the host's memory. Records are atomic words, so that a race results in a wrong value rather than undefined
/// behaviour.
struct Memory {
    shape: Shape,
    indices: Vec<Bin>,
    words: Vec<AtomicU64>,
}

/// Relaxed suffices after a fence, but ThreadSanitizer does not support fences.
const ACKNOWLEDGE: Ordering = match cfg!(superstep_sanitized) {
    true => Ordering::Release,
    false => Ordering::Relaxed,
};

impl Memory {
    fn new(shape: Shape) -> Self {
        let words = shape.bins * shape.bin_records * 3;
        Memory {
            shape,
            indices: (0..shape.bins).map(|_| Bin::default()).collect(),
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn bins(&self) -> Bins {
        // SAFETY: the vectors have the required lengths, are zeroed, and outlive the value in all tests in this file;
        // an `AtomicU64` has the size and alignment of a record's word.
        unsafe {
            Bins::new(
                self.shape,
                self.indices.as_ptr(),
                self.words.as_ptr().cast(),
            )
        }
    }

    /// Performs the steps of `__superstep_probe_access` for the `lanes` of a warp, in the same order.
    fn probe(&self, sm: u32, cta: u32, warp: u32, lanes: &[u32], site: u32) {
        let capacity = self.shape.bin_records as u64;
        let number = sm as usize & (self.shape.bins - 1);
        let bin = &self.indices[number];
        let group = lanes.len() as u64;
        let first = bin.reserved.fetch_add(group, Ordering::Relaxed);
        let (end, mut written) = (first + group, first);
        while written < end {
            let limit = loop {
                let limit = bin.released.load(Ordering::Acquire) + capacity;
                if limit > written {
                    break limit;
                }
                std::thread::yield_now();
            };
            let until = limit.min(end);
            for position in written..until {
                let rank = position - first;
                let thread = warp * 32 + lanes[rank as usize];
                let record = Record::pack(&Fields {
                    cta,
                    site,
                    address: u64::from(cta) << 32 | u64::from(thread) << 16 | u64::from(site),
                    width_bytes: 4,
                    thread,
                    sm,
                    group: group as u32,
                    leader: rank == 0,
                    odd_lap: (position / capacity).is_multiple_of(2),
                });
                let slot =
                    (number * self.shape.bin_records + (position & (capacity - 1)) as usize) * 3;
                for (word, value) in
                    self.words[slot..]
                        .iter()
                        .zip([record.cta_site, record.address, record.detail])
                {
                    word.store(value, Ordering::Relaxed);
                }
            }
            fence(Ordering::SeqCst);
            bin.acknowledged.fetch_add(until - written, ACKNOWLEDGE);
            written = until;
        }
    }
}

/// Runs `warps` producers and a consumer. Every access must arrive exactly once, in a whole group.
fn run(shape: Shape, warps: u32, accesses: u32, consumer_naps: bool) {
    let memory = Memory::new(shape);
    let done = AtomicBool::new(false);
    let started = Instant::now();
    let (seen, is_in_order) = std::thread::scope(|scope| {
        let (memory, done) = (&memory, &done);
        let consumer = scope.spawn(move || {
            let mut bins = memory.bins();
            let mut builders: Vec<GroupBuilder> = (0..bins.shape.bins)
                .map(|_| GroupBuilder::default())
                .collect();
            let mut seen: HashMap<(u32, u32, u32), u32> = HashMap::new();
            let mut last: HashMap<(u32, u32), u32> = HashMap::new();
            let mut is_in_order = true;
            loop {
                let finished = done.load(Ordering::Acquire);
                let mut taken = Taken::default();
                for (number, builder) in builders.iter_mut().enumerate() {
                    let mut take = |records: &[Record]| {
                        let mut check = |group: &AccessGroup| {
                            for (thread, address) in group.threads() {
                                assert_eq!(
                                    address,
                                    u64::from(group.cta) << 32
                                        | u64::from(thread) << 16
                                        | u64::from(group.site.0)
                                );
                                *seen.entry((group.cta, thread, group.site.0)).or_default() += 1;
                                if let Some(prior) = last.insert((group.cta, thread), group.site.0)
                                {
                                    is_in_order &= prior < group.site.0;
                                }
                            }
                        };
                        builder.push(records, &mut check);
                    };
                    let result = if finished {
                        bins.take_quiet(number, &mut take)
                    } else {
                        bins.take_full(number, &mut take)
                    };
                    taken.records += result.records;
                    taken.missing += result.missing;
                }
                assert_eq!(taken.missing, 0, "a record was taken before it was written");
                if finished && taken.records == 0 {
                    assert!(
                        builders
                            .iter_mut()
                            .all(|builder| builder.take_broken_records() == 0)
                    );
                    return (seen, is_in_order);
                }
                if consumer_naps {
                    std::thread::sleep(Duration::from_micros(
                        u64::from(taken.records == 0) * 50 + 10,
                    ));
                } else {
                    std::thread::yield_now();
                }
                assert!(started.elapsed() < Duration::from_secs(60), "no progress");
            }
        });
        let producers: Vec<_> = (0..warps)
            .map(|warp| {
                scope.spawn(move || {
                    for site in 0..accesses {
                        // Different lanes each time, from one to all 32.
                        let mask = (site.wrapping_mul(2_654_435_761) ^ warp.rotate_left(7))
                            | 1 << (site % 32);
                        let lanes: Vec<u32> =
                            (0..32).filter(|lane| mask >> lane & 1 != 0).collect();
                        memory.probe(warp, warp / 2, warp % 2, &lanes, site);
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.join().expect("a producer panicked");
        }
        done.store(true, Ordering::Release);
        consumer.join().expect("the consumer panicked")
    });
    let mut expected = 0u64;
    for warp in 0..warps {
        for site in 0..accesses {
            let mask = (site.wrapping_mul(2_654_435_761) ^ warp.rotate_left(7)) | 1 << (site % 32);
            for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
                expected += 1;
                assert_eq!(
                    seen.get(&(warp / 2, warp % 2 * 32 + lane, site)),
                    Some(&1),
                    "warp {warp} lane {lane} site {site}"
                );
            }
        }
    }
    assert_eq!(
        seen.values().map(|&times| u64::from(times)).sum::<u64>(),
        expected
    );
    assert!(is_in_order, "a thread's accesses are not in program order");
}

#[test]
fn nothing_is_lost_when_a_bin_is_smaller_than_a_warp() {
    run(Shape::rounded(1, 1), 4, 60, false);
    run(Shape::rounded(1, 4), 6, 100, false);
    run(Shape::rounded(2, 16), 8, 200, true);
}

#[test]
fn nothing_is_lost_with_many_warps_on_few_bins() {
    run(Shape::rounded(1, 32), 12, 400, false);
    run(Shape::rounded(4, 64), 16, 400, true);
    run(Shape::rounded(8, 4096), 16, 400, false);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn nothing_is_lost_for_any_shape(bins in 1usize..9, records in 1usize..200, warps in 1u32..7, naps: bool) {
        run(Shape::rounded(bins, records), warps, 40, naps);
    }
}

/// After a fault stops the device, written records are taken and missing ones are counted.
#[test]
fn written_records_survive_a_fault() {
    let memory = Memory::new(Shape::rounded(1, 64));
    let lanes: Vec<u32> = (0..32).collect();
    memory.probe(0, 0, 0, &lanes, 1);
    // The second warp reserved its positions and wrote 8 of 32 records; the third reserved positions beyond the window.
    memory.indices[0].reserved.fetch_add(64, Ordering::Relaxed);
    for slot in 32..40 {
        let fields = Fields {
            cta: 0,
            site: 2,
            address: 1,
            width_bytes: 4,
            thread: slot,
            sm: 0,
            group: 32,
            leader: slot == 32,
            odd_lap: true,
        };
        memory.words[slot as usize * 3 + 2].store(Record::pack(&fields).detail, Ordering::Relaxed);
    }
    let mut bins = memory.bins();
    let mut count = 0;
    assert_eq!(
        bins.take_full(0, &mut |records| count += records.len()),
        Taken::default()
    );
    assert_eq!(
        bins.take_quiet(0, &mut |records| count += records.len()),
        Taken::default()
    );
    let taken = bins.salvage(0, &mut |records| count += records.len());
    assert_eq!(
        (taken, count),
        (
            Taken {
                records: 40,
                missing: 24 + 32
            },
            40
        )
    );
    let again = bins.salvage(0, &mut |records| count += records.len());
    assert_eq!((again, count), (Taken::default(), 40));
}

#[test]
fn a_quiet_bin_is_emptied_before_it_is_full() {
    let memory = Memory::new(Shape::rounded(1, 64));
    let mut bins = memory.bins();
    for round in 0..10 {
        memory.probe(0, 0, 0, &[0, 5, 31], round);
        let mut sites = Vec::new();
        let taken = bins.take_quiet(0, &mut |records| {
            sites.extend(records.iter().map(|record| record.site().0))
        });
        assert_eq!(
            (taken, sites),
            (
                Taken {
                    records: 3,
                    missing: 0
                },
                vec![round; 3]
            )
        );
    }
}
