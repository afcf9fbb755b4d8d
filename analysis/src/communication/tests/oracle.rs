//! The oracle for the engine's tests: a byte-by-byte implementation of the definitions in `docs/metrics.md`, as simple
//! as possible.

use crate::bins::{STRIDE_BINS, bin};
use crate::communication::output::detail::{
    ArrayVolume, Footprint, SiteFlow, SiteFlowAmount, SiteFlowKey, WithinLaunch,
};
use crate::communication::output::strides::{LaunchStrides, StrideCounts};
use crate::communication::output::volume::{
    Communication, Flow, KernelVolume, LaunchVolume, Transfer, Volume,
};
use crate::communication::state::exact::Matching;
use crate::communication::state::unwritten::UnwrittenRead;
use crate::scan::SiteCount;
use std::collections::{BTreeMap, BTreeSet};
use superstep_trace::{AccessGroup, AllocationId, Launch, Op, SiteId};

#[derive(Clone, Debug)]
pub(crate) enum Step {
    HostWrote(u64, u64),
    Forget(u64, u64),
    /// Number, first byte, size.
    Allocate(u32, u64, u64),
    Free(u64, u64),
    Opaque,
    OpaqueWrote(u64, u64),
    Launch(Launch, Vec<(Op, AccessGroup)>),
}

#[derive(Clone)]
enum Writer {
    Host,
    Unknown,
    /// Launch, CTAs with the bytes that they wrote, and start and instruction of the store.
    Ctas(u32, BTreeMap<u32, u64>, u64, SiteId),
}

/// Returns the matched addresses of an access, and the number of bytes that each represents.
fn parts(matching: Matching, address: u64, width: u32) -> Vec<(u64, u64)> {
    let width = u64::from(width);
    match matching {
        Matching::Bytes => (address..address + width).map(|byte| (byte, 1)).collect(),
        Matching::ExactAddress => vec![(address, width)],
    }
}

/// Addresses by launch and CTA.
type Addresses = BTreeSet<(u32, u32, u64)>;

/// Returns the first byte of the part of an access at `address` that is in the same 4 KiB page as `byte`.
fn start(address: u64, byte: u64) -> u64 {
    address.max(byte / 4096 * 4096)
}

/// Computes all results of [`super::Engine`], including transfers and strides.
pub(crate) fn communication(steps: &[Step], matching: Matching) -> Communication {
    let mut launches: Vec<LaunchVolume> = Vec::new();
    let mut last: BTreeMap<u64, Writer> = BTreeMap::new();
    let mut read_later: BTreeSet<(u32, u32, u64, u64)> = BTreeSet::new();
    let mut transfers: Vec<Transfer> = Vec::new();
    let (mut loads, mut stores) = (Addresses::new(), Addresses::new());
    let mut regions: Vec<(u64, u64, AllocationId)> = Vec::new();
    let mut site_flows: BTreeMap<(u32, SiteFlowKey), SiteFlowAmount> = BTreeMap::new();
    let mut arrays: BTreeMap<(Option<AllocationId>, u32), Volume> = BTreeMap::new();
    let mut within: BTreeMap<(u32, SiteId, Option<AllocationId>), u64> = BTreeMap::new();
    let mut footprints: Vec<Footprint> = Vec::new();
    let mut accessed: BTreeMap<SiteId, SiteCount> = BTreeMap::new();
    let mut unwritten: BTreeMap<(u32, SiteId, AllocationId), UnwrittenRead> = BTreeMap::new();
    let mut kernels: Vec<String> = Vec::new();
    let (mut touched_last, mut touched_ever) = (BTreeSet::new(), BTreeSet::new());
    for step in steps {
        if let Step::Allocate(_, address, bytes) | Step::Free(address, bytes) = step {
            regions.retain(|&(start, end, _)| end <= *address || start >= address + bytes);
        }
        if let Step::Allocate(_, address, bytes)
        | Step::Free(address, bytes)
        | Step::Forget(address, bytes) = step
        {
            for byte in *address..address + bytes {
                last.remove(&byte);
                touched_last.remove(&byte);
                touched_ever.remove(&byte);
            }
        }
        match step {
            Step::Allocate(id, address, bytes) if *bytes > 0 => {
                regions.push((*address, address + bytes, AllocationId(*id)));
            }
            Step::Allocate(..) | Step::Free(..) | Step::Forget(..) => {}
            Step::HostWrote(address, bytes) => {
                last.extend((*address..address + bytes).map(|a| (a, Writer::Host)));
            }
            Step::Opaque => {
                let live = regions.iter().flat_map(|&(start, end, _)| start..end);
                last.extend(live.map(|byte| (byte, Writer::Unknown)));
            }
            Step::OpaqueWrote(address, bytes) => {
                last.extend((*address..address + bytes).map(|a| (a, Writer::Unknown)));
            }
            Step::Launch(launch, groups) => {
                let current = launches.len() as u32;
                let kernel = (kernels.iter()).position(|name| *name == launch.kernel);
                let kernel = kernel.unwrap_or_else(|| {
                    kernels.push(launch.kernel.clone());
                    kernels.len() - 1
                }) as u32;
                let (mut touched, mut read) = (BTreeSet::new(), BTreeSet::new());
                // The first reader of a byte depends on the order of the CTAs and of their phases.
                let mut groups = with_phases(groups);
                groups.sort_by_key(|((_, group), phases)| (group.cta, phases.first().copied()));
                let groups_of_launch: Vec<_> = groups.iter().map(|(group, _)| *group).collect();
                let mut volume = Volume::default();
                let mut written: BTreeMap<u64, (BTreeMap<u32, u64>, bool, u64, SiteId)> =
                    BTreeMap::new();
                // Phase, CTA and thread of the stores of each byte.
                let mut stores_of: BTreeMap<u64, BTreeSet<(u32, u32, u32)>> = BTreeMap::new();
                for ((op, group), phases) in groups.iter().filter(|_| matching == Matching::Bytes) {
                    for ((thread, address), phase) in group.threads().zip(phases) {
                        let bytes = address..address + u64::from(group.width_bytes);
                        for byte in bytes.filter(|_| op.writes()) {
                            let stores = stores_of.entry(byte).or_default();
                            stores.insert((*phase, group.cta, thread));
                        }
                    }
                }
                let mut own: BTreeSet<(u32, u32, u64)> = BTreeSet::new();
                let mut own_in_phase: BTreeSet<(u32, u32, u32, u64)> = BTreeSet::new();
                let mut bytes: BTreeSet<(u32, u32, u32, u64, u64)> = BTreeSet::new();
                let mut reads: BTreeSet<(u32, u32, u32, u64, u32)> = BTreeSet::new();
                for ((op, group), phases) in groups {
                    for ((thread, address), phase) in group.threads().zip(phases) {
                        let width = group.width_bytes;
                        let count = accessed.entry(group.site).or_default();
                        count.accesses += 1;
                        count.bytes += u64::from(width);
                        for (byte, part) in parts(matching, address, width) {
                            touched.insert(byte);
                            if !op.reads() {
                                continue;
                            }
                            read.insert(byte);
                            let allocation = allocation_at(&regions, start(address, byte));
                            let array = arrays.entry((allocation, kernel)).or_default();
                            volume.loaded_bytes += part;
                            array.loaded_bytes += part;
                            let all_stores = || stores_of.get(&byte).into_iter().flatten();
                            let has_other_writer =
                                all_stores().any(|&(_, cta, by)| (cta, by) != (group.cta, thread));
                            let another_cta_stores_in = |in_phase| {
                                all_stores().any(|&(at, cta, _)| at == in_phase && cta != group.cta)
                            };
                            let previous =
                                all_stores().map(|it| it.0).filter(|&at| at < phase).max();
                            let own_store = (phase, group.cta, thread, byte);
                            if another_cta_stores_in(phase)
                                || !own_in_phase.contains(&own_store)
                                    && previous.is_some_and(another_cta_stores_in)
                            {
                                let key = (kernel, group.site, allocation);
                                *within.entry(key).or_default() += part;
                                let sums = match op.writes() {
                                    true => [
                                        &mut volume.within_launch_atomic_bytes,
                                        &mut array.within_launch_atomic_bytes,
                                    ],
                                    false => [
                                        &mut volume.within_launch_loaded_bytes,
                                        &mut array.within_launch_loaded_bytes,
                                    ],
                                };
                                sums.into_iter().for_each(|sum| *sum += part);
                            }
                            if own.contains(&(group.cta, thread, byte)) {
                                volume.local_loaded_bytes += part;
                                array.local_loaded_bytes += part;
                                continue;
                            }
                            let (source, ctas, begin, writer) = match last.get(&byte) {
                                None if has_other_writer => {
                                    volume.unordered_loaded_bytes += part;
                                    array.unordered_loaded_bytes += part;
                                    continue;
                                }
                                None => {
                                    volume.uninitialised_loaded_bytes += part;
                                    array.uninitialised_loaded_bytes += part;
                                    continue;
                                }
                                Some(Writer::Host) => {
                                    volume.input_loaded_bytes += part;
                                    array.input_loaded_bytes += part;
                                    continue;
                                }
                                Some(Writer::Unknown) => {
                                    volume.unknown_loaded_bytes += part;
                                    array.unknown_loaded_bytes += part;
                                    continue;
                                }
                                Some(Writer::Ctas(source, ctas, at, site)) => {
                                    (*source, ctas, *at, *site)
                                }
                            };
                            let same_kernel = launches[source as usize].kernel == launch.kernel;
                            let others: Vec<(u32, u64)> = (ctas.iter())
                                .map(|(&cta, &bytes)| (cta, bytes))
                                .filter(|&(cta, _)| !(same_kernel && cta == group.cta))
                                .collect();
                            if others.is_empty() {
                                volume.self_loaded_bytes += part;
                                array.self_loaded_bytes += part;
                            } else {
                                volume.communicated_loaded_bytes += part;
                                array.communicated_loaded_bytes += part;
                                let key = SiteFlowKey {
                                    source_launch: source,
                                    writer,
                                    reader: group.site,
                                    allocation,
                                };
                                let other = others.iter().any(|&(cta, _)| cta != group.cta);
                                *site_flows.entry((current, key)).or_default() += SiteFlowAmount {
                                    loaded_bytes: part,
                                    other_cta_bytes: if other { part } else { 0 },
                                };
                                loads.insert((current, group.cta, start(address, byte)));
                            }
                            for (cta, stored) in others {
                                if bytes.insert((source, cta, group.cta, byte, part)) {
                                    array.received_bytes += part;
                                }
                                reads.insert((source, cta, group.cta, address, width));
                                if read_later.insert((source, cta, byte, stored)) {
                                    array.communicated_stored_bytes += stored;
                                }
                                stores.insert((source, cta, begin));
                            }
                        }
                        for (byte, part) in parts(matching, address, width) {
                            if op.writes() {
                                volume.stored_bytes += part;
                                let allocation = allocation_at(&regions, start(address, byte));
                                let array = arrays.entry((allocation, kernel)).or_default();
                                array.stored_bytes += part;
                                own.insert((group.cta, thread, byte));
                                own_in_phase.insert((phase, group.cta, thread, byte));
                                let (ctas, plain, at, site) = written.entry(byte).or_default();
                                let stored = ctas.entry(group.cta).or_default();
                                *stored = part.max(*stored);
                                *plain |= *op == Op::Store;
                                *at = start(address, byte).max(*at);
                                *site = group.site.max(*site);
                            }
                        }
                    }
                }
                let ids = (current, kernel);
                add_unwritten_reads(&groups_of_launch, &last, ids, &regions, &mut unwritten);
                let mut amounts: BTreeMap<(u32, u32, u32), (u64, u64)> = BTreeMap::new();
                for (source, cta, receiver, _, part) in bytes {
                    amounts.entry((source, cta, receiver)).or_default().0 += part;
                }
                for (source, cta, receiver, _, _) in reads {
                    amounts.entry((source, cta, receiver)).or_default().1 += 1;
                }
                for ((source_launch, source_cta, receiver_cta), (bytes, count)) in amounts {
                    volume.received_bytes += bytes;
                    volume.received_count += count;
                    transfers.push(Transfer {
                        source_launch,
                        source_cta,
                        receiver_launch: current,
                        receiver_cta,
                        bytes,
                        count,
                    });
                }
                let common = |other| touched.intersection(other).count() as u64;
                footprints.push(Footprint {
                    read_bytes: read.len() as u64,
                    written_bytes: written.len() as u64,
                    touched_bytes: touched.len() as u64,
                    again_bytes: common(&touched_last),
                    known_bytes: common(&touched_ever),
                });
                touched_ever.extend(&touched);
                touched_last = touched;
                for (byte, (ctas, plain, at, site)) in written {
                    if ctas.len() > 1 {
                        let part = ctas.values().copied().max().unwrap();
                        volume.several_writers_bytes += part;
                        volume.racing_bytes += if plain { part } else { 0 };
                    }
                    last.insert(byte, Writer::Ctas(current, ctas, at, site));
                }
                launches.push(LaunchVolume {
                    stream: launch.stream,
                    superstep: launch.launch,
                    kernel: launch.kernel.clone(),
                    volume,
                });
            }
        }
    }
    for (launch, _, _, stored) in read_later {
        launches[launch as usize].volume.communicated_stored_bytes += stored;
    }
    let strides = (0..launches.len() as u32)
        .map(|launch| LaunchStrides {
            loads: distances(&loads, launch),
            stores: distances(&stores, launch),
        })
        .collect();
    let found = Communication {
        strides,
        ..summed(launches, transfers)
    };
    if matching == Matching::ExactAddress {
        return found;
    }
    let site_flows = site_flows.into_iter();
    let site_flows = site_flows.map(|((receiver_launch, key), amount)| SiteFlow {
        receiver_launch,
        key,
        amount,
    });
    let arrays = arrays.into_iter();
    let arrays = arrays.map(|((allocation, kernel), volume)| ArrayVolume {
        allocation,
        kernel,
        volume,
    });
    Communication {
        site_flows: site_flows.collect(),
        arrays: arrays.collect(),
        footprints,
        unwritten: unwritten.into_values().collect(),
        within_launch: (within.into_iter())
            .map(|((kernel, site, allocation), loaded_bytes)| WithinLaunch {
                kernel,
                site,
                allocation,
                loaded_bytes,
            })
            .collect(),
        accessed: accessed.into_iter().collect(),
        ..found
    }
}

/// Returns the accesses, each with the number of grid barriers that its threads have passed.
fn with_phases(groups: &[(Op, AccessGroup)]) -> Vec<(&(Op, AccessGroup), Vec<u32>)> {
    let mut passed: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut found = Vec::new();
    for access in groups {
        let threads = access.1.threads().map(|(thread, _)| (access.1.cta, thread));
        if access.1.is_grid_barrier() {
            threads.for_each(|thread| *passed.entry(thread).or_default() += 1);
        } else {
            let phase = |thread| passed.get(&thread).copied().unwrap_or_default();
            found.push((access, threads.map(phase).collect()));
        }
    }
    found
}

/// Adds a launch's reads of bytes that nothing can have written before. `last` contains the writer of each byte before
/// the launch.
fn add_unwritten_reads(
    groups: &[&(Op, AccessGroup)],
    last: &BTreeMap<u64, Writer>,
    (current, kernel): (u32, u32),
    regions: &[(u64, u64, AllocationId)],
    all: &mut BTreeMap<(u32, SiteId, AllocationId), UnwrittenRead>,
) {
    let overwrites = |op: Op| matches!(op, Op::Store | Op::AtomicExch);
    let mut stored_by: BTreeMap<u64, BTreeSet<(u32, u32)>> = BTreeMap::new();
    for (_, group) in groups.iter().filter(|(op, _)| overwrites(*op)) {
        for (thread, address) in group.threads() {
            for byte in address..address + u64::from(group.width_bytes) {
                let writers = stored_by.entry(byte).or_default();
                writers.insert((group.cta, thread));
            }
        }
    }
    let mut own: BTreeSet<(u32, u32, u64)> = BTreeSet::new();
    let mut found: BTreeMap<(SiteId, AllocationId), (BTreeSet<u64>, u64)> = BTreeMap::new();
    for (op, group) in groups {
        for (thread, address) in group.threads() {
            let bytes = address..address + u64::from(group.width_bytes);
            let me = (group.cta, thread);
            // There is one part for each 4 KiB page.
            let pages: BTreeSet<u64> = bytes.clone().map(|byte| byte / 4096).collect();
            for page in pages {
                let part: Vec<u64> = bytes.clone().filter(|byte| byte / 4096 == page).collect();
                let is_empty = |byte: &u64| {
                    let others = stored_by
                        .get(byte)
                        .is_some_and(|writers| writers.iter().any(|&writer| writer != me));
                    !last.contains_key(byte) && !own.contains(&(me.0, me.1, *byte)) && !others
                };
                let allocation = allocation_at(regions, part[0]);
                if let Some(allocation) = allocation
                    && op.reads()
                    && *op != Op::AtomicExch
                    && part.iter().all(is_empty)
                {
                    let (distinct, loaded) = found.entry((group.site, allocation)).or_default();
                    *loaded += part.len() as u64;
                    distinct.extend(part);
                }
            }
            if op.writes() {
                own.extend(bytes.map(|byte| (me.0, me.1, byte)));
            }
        }
    }
    for ((site, allocation), (distinct, loaded_bytes)) in found {
        let read = all.entry((kernel, site, allocation));
        let read = read.or_insert(UnwrittenRead {
            kernel,
            site,
            allocation,
            first_launch: current,
            launches: 0,
            bytes: 0,
            loaded_bytes: 0,
        });
        read.launches += 1;
        read.bytes = read.bytes.max(distinct.len() as u64);
        read.loaded_bytes += loaded_bytes;
    }
}

/// Returns the bytes that contain written values after the steps.
pub(crate) fn written(steps: &[Step]) -> BTreeSet<u64> {
    let mut written = BTreeSet::new();
    let mut regions: Vec<(u64, u64)> = Vec::new();
    for step in steps {
        if let Step::Allocate(_, address, bytes) | Step::Free(address, bytes) = step {
            regions.retain(|&(start, end)| end <= *address || start >= address + bytes);
        }
        match step {
            Step::Opaque => written.extend(regions.iter().flat_map(|&(start, end)| start..end)),
            Step::HostWrote(address, bytes) | Step::OpaqueWrote(address, bytes) => {
                written.extend(*address..address + bytes);
            }
            Step::Allocate(_, address, bytes)
            | Step::Free(address, bytes)
            | Step::Forget(address, bytes) => {
                written.retain(|byte| !(*address..address + bytes).contains(byte));
                if let Step::Allocate(..) = step {
                    regions.push((*address, address + bytes));
                }
            }
            Step::Launch(_, groups) => {
                let accesses = groups.iter().filter(|(_, group)| !group.is_grid_barrier());
                for (_, group) in accesses.filter(|(op, _)| op.writes()) {
                    for (_, address) in group.threads() {
                        written.extend(address..address + u64::from(group.width_bytes));
                    }
                }
            }
        }
    }
    written
}

fn allocation_at(regions: &[(u64, u64, AllocationId)], address: u64) -> Option<AllocationId> {
    (regions.iter())
        .find(|(start, end, _)| (*start..*end).contains(&address))
        .map(|&(_, _, id)| id)
}

/// Counts the distances within each CTA's sorted set of addresses in a launch.
fn distances(addresses: &Addresses, launch: u32) -> StrideCounts {
    let mut counts = StrideCounts::default();
    let addresses: Vec<_> = addresses.iter().filter(|a| a.0 == launch).collect();
    for pair in addresses.windows(2) {
        if pair[0].1 == pair[1].1 {
            counts[bin(&STRIDE_BINS, pair[1].2 - pair[0].2).unwrap()] += 1;
        }
    }
    counts
}

fn summed(launches: Vec<LaunchVolume>, transfers: Vec<Transfer>) -> Communication {
    let mut total = Volume::default();
    let mut kernels: Vec<KernelVolume> = Vec::new();
    for launch in &launches {
        total += launch.volume;
        match kernels.iter_mut().find(|k| k.kernel == launch.kernel) {
            Some(kernel) => {
                kernel.launches += 1;
                kernel.volume += launch.volume;
            }
            None => kernels.push(KernelVolume {
                kernel: launch.kernel.clone(),
                launches: 1,
                volume: launch.volume,
            }),
        }
    }
    let mut flows: BTreeMap<(u32, u32), Flow> = BTreeMap::new();
    for transfer in &transfers {
        let launches = (transfer.source_launch, transfer.receiver_launch);
        let flow = flows.entry(launches).or_insert(Flow {
            source_launch: launches.0,
            receiver_launch: launches.1,
            bytes: 0,
            count: 0,
        });
        flow.bytes += transfer.bytes;
        flow.count += transfer.count;
    }
    Communication {
        launches,
        kernels,
        total,
        flows: flows.into_values().collect(),
        transfers: transfers.into(),
        ..Communication::default()
    }
}
