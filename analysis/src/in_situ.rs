//! Tables from an in-situ run. Sums that `docs/capture/in-situ.md` calls exact are used directly; others get bounds.

use crate::communication::{
    Communication, Flow, LaunchVolume, MemoryLimit, Options, Transfer, Transfers, Volume, by_kernel,
};
use crate::counts::{Counts, LaunchCounts};
use crate::error::{AnalysisError, Result};
use std::collections::{BTreeMap, BTreeSet};
use superstep_trace::{Backend, Bounds, Capture, CtaBlocks, FirstRead, LaunchSums};

/// Bounds for each column of a volume, equal if the column is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeBounds {
    pub lower: Volume,
    pub upper: Volume,
}

impl VolumeBounds {
    pub fn of(&self, column: impl Fn(&Volume) -> u64) -> Bounds {
        Bounds {
            least: column(&self.lower),
            most: column(&self.upper),
        }
    }
}

crate::add_assign! { VolumeBounds: lower, upper }

impl InSitu {
    /// Returns whether the flow and the transfers from one launch to another are exact.
    pub fn is_exact(&self, (source, receiver): (u32, u32)) -> bool {
        // Bytes without shadow memory may have come from any launch.
        let unknown = self.launches[receiver as usize].of(|it| it.unknown_loaded_bytes);
        unknown.is_exact() && !self.inexact_pairs.contains(&(source, receiver))
    }
}

/// Bounds and granularity of an in-situ run's results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InSitu {
    /// Bounds by launch, in the order of [`Communication::launches`].
    pub launches: Vec<VolumeBounds>,
    pub total: VolumeBounds,
    /// Pairs of source and receiving launch with inexact flows and transfers.
    pub inexact_pairs: BTreeSet<(u32, u32)>,
    /// Granularity of transfer endpoints; a block is identified by its first CTA.
    pub cta_blocks: CtaBlocks,
    pub(crate) has_transfers: bool,
}

/// Returns whether the launches of a capture have sums instead of accesses; fails if they have both.
pub(crate) fn has_sums(capture: &Capture) -> Result<bool> {
    let mut with_sums = capture.launches().filter(|launch| launch.sums.is_some());
    let mut with_accesses = (capture.launches()).filter(|launch| !launch.chunks.is_empty());
    match (with_sums.next(), with_accesses.next()) {
        (Some(sums), Some(accesses)) => Err(AnalysisError::Mixed {
            sums: (sums.launch.stream, sums.launch.launch),
            accesses: (accesses.launch.stream, accesses.launch.launch),
        }),
        (sums, _) => Ok(sums.is_some()),
    }
}

/// Fails with [`AnalysisError::NeedsTrace`] if `what` needs accesses but the capture has only sums.
pub fn needs_accesses(capture: &Capture, what: &'static str) -> Result<()> {
    match capture.is_in_situ() {
        true => Err(AnalysisError::NeedsTrace { what }),
        false => Ok(()),
    }
}

pub(crate) fn counts(sums: &LaunchSums) -> Counts {
    let (loads, stores, atomics) = (&sums.loads, &sums.stores, &sums.atomics);
    Counts {
        thread_loads: loads.threads,
        thread_stores: stores.threads,
        thread_atomics: atomics.threads,
        loaded_bytes: loads.bytes,
        stored_bytes: stores.bytes,
        atomic_bytes: atomics.bytes,
        warp_loads: loads.warps,
        warp_stores: stores.warps,
        warp_atomics: atomics.warps,
        ..Counts::default()
    }
}

fn volume(sums: &LaunchSums) -> Volume {
    let loaded = sums.loaded;
    Volume {
        loaded_bytes: sums.loads.bytes + sums.atomics.bytes,
        communicated_loaded_bytes: loaded.communicated,
        self_loaded_bytes: loaded.own,
        input_loaded_bytes: loaded.input,
        uninitialised_loaded_bytes: loaded.uninitialised,
        unknown_loaded_bytes: loaded.unknown,
        local_loaded_bytes: loaded.local,
        stored_bytes: sums.stores.bytes + sums.atomics.bytes,
        within_launch_loaded_bytes: sums.within_launch_loaded_bytes,
        within_launch_atomic_bytes: sums.within_launch_atomic_bytes,
        several_writers_bytes: sums.several_writers_bytes,
        racing_bytes: sums.racing_bytes,
        ..Volume::default()
    }
}

/// Computes the counts and the communication of a capture for which [`has_sums`] is true.
pub(crate) fn analyse(
    capture: &Capture,
    options: Options,
    limit: &MemoryLimit,
) -> Result<(Vec<LaunchCounts>, Communication, InSitu)> {
    let (mut counted, mut launches) = (Vec::new(), Vec::new());
    let transfers = limit.sorter("transfers", capture.cancellation);
    let mut flows: BTreeMap<(u32, u32), Flow> = BTreeMap::new();
    let mut first_read: BTreeMap<(u32, u32), FirstRead> = BTreeMap::new();
    let mut perhaps_local = Vec::new();
    for record in capture.launches() {
        let (number, launch) = (record.number, record.launch);
        let empty = || LaunchSums::new(launch.stream, launch.launch);
        let sums = record.sums.cloned().unwrap_or_else(empty);
        counted.push(LaunchCounts {
            launch: launch.clone(),
            counts: counts(&sums),
        });
        perhaps_local.push(sums.loaded.perhaps_local);
        let mut volume = volume(&sums);
        for part in record.received {
            let flow = flows.entry((part.source_launch, number)).or_default();
            (flow.source_launch, flow.receiver_launch) = (part.source_launch, number);
            flow.bytes += part.bytes;
            flow.count += part.count;
            volume.received_bytes += part.bytes;
            volume.received_count += part.count;
        }
        if options.transfers {
            let parts = record.received.iter().map(|part| Transfer {
                source_launch: part.source_launch,
                source_cta: part.source_cta,
                receiver_launch: part.receiver_launch,
                receiver_cta: part.receiver_cta,
                bytes: part.bytes,
                count: part.count,
            });
            transfers.append(parts.collect())?;
        }
        for part in record.first_read {
            let known = first_read.entry((part.source_launch, number));
            known.and_modify(|sum| *sum += *part).or_insert(*part);
        }
        launches.push(LaunchVolume {
            stream: launch.stream,
            superstep: launch.launch,
            kernel: launch.kernel.clone(),
            volume,
        });
    }
    for read in first_read.values() {
        let source = &mut launches[read.source_launch as usize].volume;
        source.communicated_stored_bytes += read.stored_bytes;
    }
    let mut bounds: Vec<_> = (launches.iter().zip(perhaps_local))
        .map(|(launch, perhaps_local)| within_launch(launch.volume, perhaps_local))
        .collect();
    // Number of CTAs that wrote a byte and are named in its transfer.
    let named = match capture.header.backend {
        Backend::Cpu => 1,
        Backend::Cuda => 0,
    };
    for read in first_read.values() {
        let ctas = counted[read.source_launch as usize].launch.ctas();
        widen(&mut bounds, read, ctas, named);
    }
    without_shadow(&mut bounds, capture);
    for bounds in &mut bounds {
        let upper = &mut bounds.upper;
        upper.communicated_stored_bytes = upper.communicated_stored_bytes.min(upper.stored_bytes);
    }
    let is_inexact = |pair: &&(u32, u32)| {
        let read = first_read.get(pair);
        let local = bounds[pair.1 as usize].of(|volume| volume.local_loaded_bytes);
        read.is_some_and(|it| it.several_bytes > 0 || it.perhaps_again_bytes > 0)
            || !local.is_exact()
    };
    let pairs = first_read.keys().chain(flows.keys());
    let inexact_pairs = pairs.filter(is_inexact).copied().collect();
    let mut total = VolumeBounds::default();
    bounds.iter().for_each(|launch| total += *launch);
    let (kernels, volume) = by_kernel(&launches);
    let communication = Communication {
        kernels,
        total: volume,
        launches,
        flows: flows.into_values().collect(),
        transfers: Transfers::new(transfers.finish()?),
        ..Communication::default()
    };
    let in_situ = InSitu {
        launches: bounds,
        total,
        inexact_pairs,
        cta_blocks: capture.header.cta_blocks,
        has_transfers: options.transfers,
    };
    Ok((counted, communication, in_situ))
}

/// Returns bounds for loads of bytes that the same launch may have stored. `perhaps_local` bytes may belong to `local`
/// instead of another class, and in that case are not received. Bytes that nothing had written before the launch may
/// have been stored by another thread during it.
fn within_launch(volume: Volume, perhaps_local: u64) -> VolumeBounds {
    let (mut lower, mut upper) = (volume, volume);
    upper.local_loaded_bytes += perhaps_local;
    for class in [
        &mut lower.communicated_loaded_bytes,
        &mut lower.self_loaded_bytes,
        &mut lower.input_loaded_bytes,
        &mut lower.uninitialised_loaded_bytes,
        &mut lower.unknown_loaded_bytes,
        &mut lower.received_bytes,
        &mut lower.received_count,
    ] {
        *class = class.saturating_sub(perhaps_local);
    }
    if upper.stored_bytes > 0 {
        lower.uninitialised_loaded_bytes = 0;
        upper.unordered_loaded_bytes = upper.uninitialised_loaded_bytes;
    }
    VolumeBounds { lower, upper }
}

/// Widens bounds for bytes that a launch of `ctas` CTAs wrote and another launch read, if the source is uncertain.
fn widen(bounds: &mut [VolumeBounds], read: &FirstRead, ctas: u64, named: u64) {
    // A byte is received from each CTA that wrote it, and counts as a communicated store of each. One store has
    // already been counted.
    let additional = |counted: u64| {
        read.several_bytes
            .saturating_mul(ctas.saturating_sub(counted))
    };
    let receiver = &mut bounds[read.receiver_launch as usize];
    let more = additional(named).saturating_add(read.perhaps_again_bytes);
    let upper = &mut receiver.upper;
    upper.received_bytes = upper.received_bytes.saturating_add(more);
    upper.received_count = upper.received_count.saturating_add(more);
    // Bytes that the reader itself wrote in its launch were not read from the source but may be marked as communicated.
    let mismarked = receiver.upper.local_loaded_bytes - receiver.lower.local_loaded_bytes;
    let source = &mut bounds[read.source_launch as usize];
    let lower = &mut source.lower.communicated_stored_bytes;
    *lower = lower.saturating_sub(mismarked.min(read.stored_bytes));
    let upper = &mut source.upper.communicated_stored_bytes;
    *upper = upper.saturating_add(additional(1));
}

/// Widens bounds for bytes without shadow memory: they may be in any class and may have been received from every CTA
/// of a launch, and their other writers are unknown.
fn without_shadow(bounds: &mut [VolumeBounds], capture: &Capture) {
    let all_loaded: u64 = (capture.launches().filter_map(|launch| launch.sums))
        .map(|sums| sums.unshadowed_loaded_bytes)
        .sum();
    let ctas = (capture.launches().map(|launch| launch.launch.ctas())).max();
    let ctas = ctas.unwrap_or(0);
    for (bounds, launch) in bounds.iter_mut().zip(capture.launches()) {
        let (loaded, stored) = launch.sums.map_or((0, 0), |sums| {
            (sums.unshadowed_loaded_bytes, sums.unshadowed_stored_bytes)
        });
        bounds.lower.unknown_loaded_bytes -= loaded.min(bounds.lower.unknown_loaded_bytes);
        let unordered = match bounds.upper.stored_bytes {
            0 => 0,
            _ => loaded,
        };
        let [received, communicated] = [loaded, all_loaded].map(|it| it.saturating_mul(ctas));
        let upper = &mut bounds.upper;
        for (column, more) in [
            (&mut upper.communicated_loaded_bytes, loaded),
            (&mut upper.self_loaded_bytes, loaded),
            (&mut upper.input_loaded_bytes, loaded),
            (&mut upper.uninitialised_loaded_bytes, loaded),
            (&mut upper.unordered_loaded_bytes, unordered),
            (&mut upper.local_loaded_bytes, loaded),
            (&mut upper.received_bytes, received),
            (&mut upper.received_count, received),
            (&mut upper.communicated_stored_bytes, communicated),
            (&mut upper.several_writers_bytes, stored),
            (&mut upper.racing_bytes, stored),
        ] {
            *column = column.saturating_add(more);
        }
    }
}
