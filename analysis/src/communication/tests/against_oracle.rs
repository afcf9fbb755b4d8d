//! Compares the engine with the oracle on generated programs and with results derived by hand.

use super::oracle::{self, Step};
use crate::communication::{
    ArrayVolume, Communication, Engine, Matching, MemoryLimit, Options, SiteFlow, SiteFlowAmount,
    SiteFlowKey, UnwrittenRead,
};
use crate::sites::SiteOps;
use proptest::prelude::*;
use std::collections::BTreeSet;
use superstep_trace::{
    AccessGroup, AllocationId, Cancellation, Launch, LaunchId, Op, SiteId, StreamId,
};

const OPS: [Op; 4] = [Op::Load, Op::Store, Op::AtomicAdd, Op::AtomicExch];

fn ops() -> SiteOps {
    SiteOps::from_pairs((0..4).map(|k| (SiteId(k), OPS[k as usize])))
}

const ALL: Options = Options {
    transfers: true,
    strides: true,
    details: true,
    matching: Matching::Bytes,
};

const EXACT: Options = Options {
    matching: Matching::ExactAddress,
    ..ALL
};

fn run(steps: &[Step], options: Options, chunk: usize) -> Communication {
    run_within(steps, options, chunk, &MemoryLimit::none())
}

/// Returns a limit of 0 bytes, so that everything is moved to disk after each launch.
fn no_memory() -> MemoryLimit {
    MemoryLimit {
        bytes: 0,
        ..MemoryLimit::none()
    }
}

fn run_within(
    steps: &[Step],
    options: Options,
    chunk: usize,
    limit: &MemoryLimit,
) -> Communication {
    let engine = engine_of(steps, options, chunk, limit);
    engine.finish().unwrap().communication
}

fn engine_of(
    steps: &[Step],
    options: Options,
    chunk: usize,
    limit: &MemoryLimit,
) -> Engine<'static> {
    let mut engine = Engine::new(ops(), options, limit, Cancellation::default());
    for step in steps {
        match step {
            Step::HostWrote(address, bytes) => engine.host_wrote(*address, *bytes).unwrap(),
            Step::Forget(address, bytes) => engine.forget(*address, *bytes).unwrap(),
            Step::Allocate(id, address, bytes) => {
                engine.allocated(AllocationId(*id), *address, *bytes);
                engine.forget(*address, *bytes).unwrap();
            }
            Step::Free(address, bytes) => {
                engine.forget(*address, *bytes).unwrap();
                engine.freed(*address, *bytes);
            }
            Step::Opaque => engine.opaque_launch().unwrap(),
            Step::OpaqueWrote(address, bytes) => engine.opaque_wrote(*address, *bytes).unwrap(),
            Step::Launch(launch, groups) => {
                let groups: Vec<AccessGroup> = groups.iter().map(|(_, group)| *group).collect();
                let chunks: Vec<Vec<AccessGroup>> =
                    groups.chunks(chunk).map(<[_]>::to_vec).collect();
                engine.launch(launch, chunks).unwrap();
            }
        }
    }
    engine
}

pub(crate) fn launch(stream: u32, number: u32, kernel: &str) -> Launch {
    Launch {
        sequence: 0,
        stream: StreamId(stream),
        launch: LaunchId(number),
        kernel: kernel.to_owned(),
        grid: [8, 1, 1],
        block: [64, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        parent: None,
        device: 0,
    }
}

fn group(op: usize, cta: u32, warp: u32, width: u32, addresses: &[u64]) -> (Op, AccessGroup) {
    let mut group = AccessGroup {
        site: SiteId(op as u32),
        cta,
        warp,
        width_bytes: width,
        mask: ((1u64 << addresses.len()) - 1) as u32,
        ..AccessGroup::EMPTY
    };
    group.addresses[..addresses.len()].copy_from_slice(addresses);
    (OPS[op], group)
}

fn any_width() -> impl Strategy<Value = u32> {
    prop_oneof![
        8 => prop::sample::select(vec![4u32, 4, 4, 1, 2, 8, 16]),
        1 => 1u32..40,
        1 => 4000u32..9000,
    ]
}

/// Generates groups at a few addresses around a page boundary, so that they overlap.
fn any_group(aligned: bool) -> impl Strategy<Value = (Op, AccessGroup)> {
    let width = if aligned {
        prop::sample::select(vec![4u32, 8]).boxed()
    } else {
        any_width().boxed()
    };
    let place = (0u32..4, 0u32..2, prop_oneof![9 => 0usize..3, 1 => Just(3)]);
    let lanes = (
        prop_oneof![Just(u32::MAX), 1u32.., 1u32..8],
        0u64..40,
        0u32..5,
        any::<u64>(),
    );
    (width, place, lanes).prop_map(
        move |(width, (cta, warp, op), (mask, first, pattern, seed))| {
            let unit = if aligned { u64::from(width) } else { 1 };
            let base = 0x10_0000 - 20 * unit + first * unit;
            // The oracle is slow for the widest accesses in full warps.
            let mask = if width > 64 {
                mask & mask.wrapping_neg()
            } else {
                mask
            };
            let addresses: Vec<u64> = (0..u64::from(mask.count_ones()))
                .map(|k| match pattern {
                    0 | 1 => base + k * u64::from(width),
                    2 => base,
                    3 => base + (31 - k) * u64::from(width),
                    _ => base + (seed.rotate_left(k as u32 * 7) % 40) * unit,
                })
                .collect();
            let (op, mut group) = group(op, cta, warp, width, &[]);
            group.mask = mask;
            group.addresses[..addresses.len()].copy_from_slice(&addresses);
            (op, group)
        },
    )
}

/// Generates the grid-barrier marks of a warp, in one or two groups of lanes.
fn any_marks() -> impl Strategy<Value = Vec<(Op, AccessGroup)>> {
    let mask = prop_oneof![Just(u32::MAX), any::<u32>()];
    (0u32..4, 0u32..2, mask).prop_map(|(cta, warp, mask)| {
        let marks = [mask, !mask].map(|mask| AccessGroup {
            site: SiteId::GRID_BARRIER,
            mask,
            ..group(0, cta, warp, 0, &[]).1
        });
        let marks = marks.into_iter().filter(|mark| mark.mask != 0);
        marks.map(|mark| (Op::Load, mark)).collect()
    })
}

/// Returns the accesses of the lanes in `mask`.
fn lanes_in(group: &AccessGroup, mask: u32) -> AccessGroup {
    let lanes = group
        .threads()
        .map(|(thread, address)| (thread % 32, address));
    let kept = lanes.filter(|(lane, _)| mask >> lane & 1 == 1);
    let mut part = AccessGroup {
        mask: group.mask & mask,
        ..*group
    };
    for (slot, (_, address)) in part.addresses.iter_mut().zip(kept) {
        *slot = address;
    }
    part
}

/// Generates groups, some of which are repeated several times in a row, alone or together with others.
pub(crate) fn any_steps(aligned: bool) -> impl Strategy<Value = Vec<Step>> {
    let repeated = (
        any_group(aligned),
        prop_oneof![3 => Just(1), 1 => 2usize..8],
    );
    let repeated = repeated.prop_map(|(group, times)| vec![group; times]);
    let groups = prop::collection::vec(repeated, 0..9);
    // The lanes that take part differ from one repetition to the next.
    let masks = prop::collection::vec(prop_oneof![Just(u32::MAX), any::<u32>()], 1..5);
    any_groups_in_steps((groups, masks).prop_map(|(groups, masks)| {
        let groups = groups.concat();
        let parts = masks.iter().flat_map(|mask| {
            let parts = groups
                .iter()
                .map(|(op, group)| (*op, lanes_in(group, *mask)));
            parts.filter(|(_, group)| group.mask != 0)
        });
        parts.collect()
    }))
}

/// Generates the accesses of loops in which most lanes move to an adjacent address in each iteration; some stay, and
/// some jump. Other accesses of the same warp come in between.
fn any_walks() -> impl Strategy<Value = Vec<Step>> {
    let loads = any_group(true).prop_filter("a load", |(op, _)| !op.writes());
    let jumps = prop_oneof![2 => Just(0u32), 1 => any::<u32>()];
    let walk = (loads, any::<u32>(), jumps, any::<bool>(), 1usize..50);
    let walk = walk.prop_map(|((op, mut group), stays, jumps, is_down, times)| {
        let (width, stays) = (u64::from(group.width_bytes), stays & stays >> 16);
        let iteration = move |number: usize| {
            let now = group;
            let lanes = now.threads().map(|(thread, _)| thread % 32);
            for (lane, address) in lanes.zip(&mut group.addresses) {
                let is_set = |mask: u32| mask.rotate_left(number as u32) >> lane & 1 == 1;
                *address = match is_down {
                    _ if is_set(jumps) && number % 5 == 4 => 0x10_0000 + u64::from(lane) * 12,
                    _ if stays >> lane & 1 == 1 => *address,
                    true => *address - width,
                    false => *address + width,
                };
            }
            (op, now)
        };
        (0..times).map(iteration).collect::<Vec<_>>()
    });
    let other = (any_group(true), 1usize..9).prop_map(|(group, times)| vec![group; times]);
    let loops = prop::collection::vec(prop_oneof![3 => walk, 1 => other], 1..6);
    any_groups_in_steps((loops, any::<bool>()).prop_map(|(loops, are_mixed)| {
        if !are_mixed {
            return loops.concat();
        }
        let iterations = (0..50).flat_map(|number| {
            let each = loops.iter().filter_map(move |groups| groups.get(number));
            each.copied().collect::<Vec<_>>()
        });
        iterations.collect()
    }))
}

fn any_steps_with_grid_barriers(aligned: bool) -> impl Strategy<Value = Vec<Step>> {
    let accesses = any_group(aligned).prop_map(|group| vec![group]);
    let groups = prop_oneof![3 => accesses, 2 => any_marks()];
    any_groups_in_steps(prop::collection::vec(groups, 0..24).prop_map(|groups| groups.concat()))
}

fn any_groups_in_steps(
    groups: impl Strategy<Value = Vec<(Op, AccessGroup)>>,
) -> impl Strategy<Value = Vec<Step>> {
    let host = (0u64..80, prop_oneof![0u64..100, Just(3 * 4096)]);
    let step = prop_oneof![
        5 => (0u32..2, 0usize..2, groups)
            .prop_map(|(stream, kernel, groups)| Step::Launch(launch(stream, 0, ["f", "g"][kernel]), groups)),
        1 => host.clone().prop_map(|(at, len)| Step::HostWrote(0x10_0000 - 40 + at, len)),
        1 => host.clone().prop_map(|(at, len)| Step::Forget(0x10_0000 - 40 + at, len)),
        2 => (0u32..9, host.clone()).prop_map(|(id, (at, len))| Step::Allocate(id, 0x10_0000 - 40 + at, len)),
        1 => Just(Step::Opaque),
        1 => host.clone().prop_map(|(at, len)| Step::OpaqueWrote(0x10_0000 - 40 + at, len)),
        1 => host.prop_map(|(at, len)| Step::Free(0x10_0000 - 40 + at, len)),
    ];
    prop::collection::vec(step, 1..10).prop_map(|mut steps| {
        let mut next = [0; 2];
        for step in &mut steps {
            if let Step::Launch(launch, _) = step {
                let number = &mut next[launch.stream.0 as usize];
                launch.launch = LaunchId(*number);
                *number += 1;
            }
        }
        steps
    })
}

fn check(steps: &[Step], chunk: usize) -> Result<(), TestCaseError> {
    let want = oracle::communication(steps, Matching::Bytes);
    let volume = &want.total;
    prop_assert_eq!(
        volume.loaded_bytes,
        volume.communicated_loaded_bytes
            + volume.self_loaded_bytes
            + volume.input_loaded_bytes
            + volume.uninitialised_loaded_bytes
            + volume.unordered_loaded_bytes
            + volume.unknown_loaded_bytes
            + volume.local_loaded_bytes
    );
    prop_assert!(volume.communicated_stored_bytes <= volume.stored_bytes);
    prop_assert_eq!(&run(steps, ALL, chunk), &want);
    let volumes_only = run(steps, Options::default(), chunk);
    prop_assert_eq!(
        volumes_only,
        Communication {
            transfers: Vec::new().into(),
            strides: Vec::new(),
            site_flows: Vec::new(),
            arrays: Vec::new(),
            footprints: Vec::new(),
            unwritten: Vec::new(),
            within_launch: Vec::new(),
            accessed: Vec::new(),
            ..want.clone()
        }
    );
    prop_assert_eq!(run_within(steps, ALL, chunk, &no_memory()), want);
    Ok(())
}

proptest! {

    #[test]
    fn equals_the_oracle(steps in any_steps(false), chunk in 1usize..6) {
        check(&steps, chunk)?;
    }

    #[test]
    fn equals_the_oracle_on_whole_words(steps in any_steps(true), chunk in 1usize..6) {
        check(&steps, chunk)?;
    }

    #[test]
    fn equals_the_oracle_with_grid_barriers(steps in any_steps_with_grid_barriers(false), chunk in 1usize..6) {
        check(&steps, chunk)?;
    }

    #[test]
    fn equals_the_oracle_with_grid_barriers_on_whole_words(steps in any_steps_with_grid_barriers(true), chunk in 1usize..6) {
        check(&steps, chunk)?;
    }

    #[test]
    fn walks_equal_the_oracle(steps in any_walks(), chunk in 1usize..400) {
        check(&steps, chunk)?;
    }

    #[test]
    fn equals_the_oracle_by_address(steps in any_steps(false), chunk in 1usize..6) {
        let want = oracle::communication(&steps, Matching::ExactAddress);
        prop_assert_eq!(&run(&steps, EXACT, chunk), &want);
        prop_assert_eq!(&run_within(&steps, EXACT, chunk, &no_memory()), &want);
    }

    #[test]
    fn finds_unwritten_ranges(steps in any_steps(false), ranges in prop::collection::vec((0u64..200, 1u64..20), 8)) {
        let written = oracle::written(&steps);
        for limit in [MemoryLimit::none(), no_memory()] {
            let mut engine = engine_of(&steps, ALL, 3, &limit);
            let mut want = BTreeSet::new();
            for (number, &(at, bytes)) in (0..).zip(&ranges) {
                let start = 0x10_0000 - 100 + at;
                engine.copied(number, start, bytes).unwrap();
                if written.range(start..start + bytes).next().is_some() {
                    want.insert(number);
                }
            }
            prop_assert_eq!(engine.finish().unwrap().written_copies, want);
        }
    }

    #[test]
    fn does_not_depend_on_threads(steps in any_steps(false)) {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let one = pool(1).install(|| run(&steps, ALL, 1));
        let many = pool(5).install(|| run(&steps, ALL, 1));
        prop_assert_eq!(&one, &many);
        let spilled = pool(5).install(|| run_within(&steps, ALL, 1, &no_memory()));
        prop_assert_eq!(&one, &spilled);
    }
}

/// The worked example in docs/metrics.md.
#[test]
fn worked_example() {
    let a = 0x5000;
    let steps = [
        Step::Allocate(0, a, 8),
        Step::Allocate(1, a + 8, 12),
        Step::HostWrote(a, 16),
        // Launch 0: CTA 0 writes words 0 and 1, CTA 1 writes words 2 and 3.
        Step::Launch(
            launch(0, 0, "write"),
            vec![
                group(1, 0, 0, 4, &[a, a + 4]),
                group(1, 1, 0, 4, &[a + 8, a + 12]),
            ],
        ),
        // Launch 1, another kernel: CTA 0 reads words 1 and 2, twice; CTA 1 reads word 2 and an unwritten word.
        Step::Launch(
            launch(0, 1, "read"),
            vec![
                group(0, 0, 0, 4, &[a + 4, a + 8]),
                group(0, 0, 1, 4, &[a + 4, a + 8]),
                group(0, 1, 0, 4, &[a + 8, a + 16]),
            ],
        ),
    ];
    let found = run(&steps, ALL, 8);
    let read = found.launches[1].volume;
    assert_eq!(
        (read.loaded_bytes, read.communicated_loaded_bytes),
        (24, 20)
    );
    assert_eq!(read.uninitialised_loaded_bytes, 4);
    assert_eq!((read.received_bytes, read.received_count), (12, 3));
    assert_eq!(found.total.communicated_stored_bytes, 8);
    assert_eq!(found.total.share(), 0.5);
    assert_eq!(found.transfers.len(), 3);
    // CTA 0 loads two adjacent words; each CTA has one store that communicates.
    assert_eq!(found.strides[1].loads[2], 1);
    assert_eq!(found.strides[0].stores, [0; 13]);
    let received = |allocation| {
        let is_in = |array: &&ArrayVolume| array.allocation == Some(AllocationId(allocation));
        (found.arrays.iter().filter(is_in))
            .map(|array| array.volume.received_bytes)
            .sum::<u64>()
    };
    assert_eq!([0, 1].map(received), [4u64, 8]);
    let flow = |allocation, loaded_bytes, other_cta_bytes| SiteFlow {
        receiver_launch: 1,
        key: SiteFlowKey {
            source_launch: 0,
            writer: SiteId(1),
            reader: SiteId(0),
            allocation: Some(AllocationId(allocation)),
        },
        amount: SiteFlowAmount {
            loaded_bytes,
            other_cta_bytes,
        },
    };
    assert_eq!(found.site_flows, [flow(0, 8, 0), flow(1, 12, 8)]);
    let second = found.footprints[1];
    assert_eq!((second.touched_bytes, second.read_bytes), (12, 12));
    assert_eq!((second.again_bytes, second.known_bytes), (8, 8));
    assert_eq!(found, oracle::communication(&steps, Matching::Bytes));
}

/// CTA 0 stores a word in phase 0, CTA 1 in phase 2. Both load it in each phase, CTA 1 in phase 2 before and after its
/// store.
#[test]
fn grid_barriers_order_the_accesses_of_ctas() {
    let a = 0x5000;
    let passed = |cta| {
        let mut mark = group(0, cta, 0, 0, &[]);
        (mark.1.site, mark.1.mask) = (SiteId::GRID_BARRIER, u32::MAX);
        mark
    };
    let (load, store) = (
        |cta| group(0, cta, 0, 4, &[a]),
        |cta| group(1, cta, 0, 4, &[a]),
    );
    let within = |groups: Vec<(Op, AccessGroup)>| {
        let steps = [Step::Launch(launch(0, 0, "f"), groups)];
        let found = run(&steps, ALL, 3);
        assert_eq!(found, oracle::communication(&steps, Matching::Bytes));
        found.total.within_launch_loaded_bytes / 4
    };
    let cta_0 = [
        store(0),
        load(0),
        passed(0),
        load(0),
        passed(0),
        load(0),
        passed(0),
        load(0),
    ];
    let cta_1 = [
        load(1),
        passed(1),
        load(1),
        passed(1),
        load(1),
        store(1),
        load(1),
        passed(1),
        load(1),
    ];
    // CTA 0 may load CTA 1's value in phase 2, where the order is unspecified, and in phase 3. CTA 1 may load CTA 0's
    // value in phase 0, where the order is unspecified, and in phases 1 and 2, but not after its own store.
    assert_eq!(within([cta_1.as_slice(), &cta_0].concat()), 2 + 3);
    let all = cta_0
        .into_iter()
        .chain(cta_1)
        .filter(|(_, it)| !it.is_grid_barrier());
    // Without barriers, all 4 loads of CTA 0 and all 5 of CTA 1 may load the other CTA's value.
    assert_eq!(within(all.collect()), 9);
}

/// The example in docs/metrics.md under "Matching addresses, as published".
#[test]
fn exact_addresses_match_fewer_bytes_if_widths_differ() {
    let a = 0x100;
    let steps = [
        Step::Launch(
            launch(0, 0, "f"),
            vec![group(1, 0, 0, 4, &[a, a + 4, a + 8, a + 12])],
        ),
        Step::Launch(launch(0, 1, "g"), vec![group(0, 1, 0, 16, &[a])]),
    ];
    let communicated = |options| run(&steps, options, 8).total.communicated_stored_bytes;
    assert_eq!((communicated(ALL), communicated(EXACT)), (16, 4));
    // All bytes of the wide load count.
    assert_eq!(run(&steps, EXACT, 8).total.received_bytes, 16);
}

/// Six words in two allocations; the host writes the first word.
#[test]
fn unwritten_reads_are_found() {
    let a = 0x5000;
    let word = |index: u64| a + 4 * index;
    let (load, store, add, exchange) = (0, 1, 2, 3);
    let steps = [
        Step::Allocate(0, a, 16),
        Step::Allocate(1, a + 16, 8),
        Step::HostWrote(a, 4),
        Step::Launch(
            launch(0, 0, "f"),
            vec![
                // Word 0 has a value, word 1 has none, and another thread writes word 2 before or after the load.
                group(load, 0, 0, 4, &[word(0), word(1), word(2)]),
                group(store, 1, 0, 4, &[word(2)]),
                // Half of these 8 bytes have a value, as in a structure with padding.
                group(load, 2, 0, 8, &[word(0)]),
                // A counter that was not cleared, and a lock that the exchange itself clears.
                group(add, 0, 1, 4, &[word(3)]),
                group(add, 1, 1, 4, &[word(3)]),
                group(exchange, 0, 0, 4, &[word(4)]),
                // First written, then read.
                group(store, 3, 0, 4, &[word(5)]),
                group(load, 3, 0, 4, &[word(5)]),
            ],
        ),
        // All words but word 1 are written by now; CTA 1 also reads word 5.
        Step::Launch(
            launch(0, 1, "f"),
            vec![
                group(load, 0, 0, 4, &[word(1)]),
                group(load, 1, 0, 4, &[word(1), word(5)]),
            ],
        ),
        // Memory reallocated at the same address is unwritten.
        Step::Free(a + 16, 8),
        Step::Allocate(2, a + 16, 8),
        Step::Launch(
            launch(0, 2, "g"),
            vec![group(load, 0, 0, 4, &[word(5), word(5) + 4])],
        ),
    ];
    let found = run(&steps, ALL, 8);
    assert_eq!(found, oracle::communication(&steps, Matching::Bytes));
    let read =
        |kernel, site, allocation, first_launch, launches, bytes, loaded_bytes| UnwrittenRead {
            kernel,
            site: SiteId(site),
            allocation: AllocationId(allocation),
            first_launch,
            launches,
            bytes,
            loaded_bytes,
        };
    let want = [
        read(0, load as u32, 0, 0, 2, 4, 12),
        read(0, add as u32, 0, 0, 1, 4, 8),
        // Memory past the end of the allocation belongs to no allocation.
        read(1, load as u32, 2, 2, 1, 4, 4),
    ];
    assert_eq!(found.unwritten, want);
}

#[test]
fn atomics_by_many_ctas_are_all_sources_but_do_not_race() {
    let a = 0x5000;
    let steps = [
        Step::Launch(
            launch(0, 0, "merge"),
            (0..5).map(|cta| group(2, cta, 0, 4, &[a])).collect(),
        ),
        Step::Launch(launch(0, 1, "merge"), vec![group(0, 3, 0, 4, &[a])]),
    ];
    let found = run(&steps, ALL, 8);
    assert_eq!(found.transfers.len(), 4);
    assert_eq!(found.total.communicated_stored_bytes, 16);
    assert_eq!(
        (found.total.several_writers_bytes, found.total.racing_bytes),
        (4, 0)
    );
}

#[test]
fn an_access_across_a_page_boundary_counts_once() {
    let a = 0x6000 - 2;
    let steps = [
        Step::Launch(launch(0, 0, "f"), vec![group(1, 0, 0, 4, &[a])]),
        Step::Launch(launch(0, 1, "g"), vec![group(0, 7, 0, 4, &[a])]),
    ];
    let found = run(&steps, ALL, 8);
    let transfers = found.transfers.to_vec().unwrap();
    assert_eq!(transfers.len(), 1);
    assert_eq!((transfers[0].bytes, transfers[0].count), (4, 1));
}
