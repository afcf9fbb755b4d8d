//! The engine: launches and host writes in, tables out.

use super::host::HostRanges;
use super::record::{Record, WideAccesses, cut};
use super::shadow::{PAGE_BYTES, Tag, page_of};
use super::shard::Shard;
use super::strides::{LaunchStrides, Runs, add};
use super::sums::{Amount, Received, View};
use super::volume::{Communication, Flow, KernelVolume, LaunchVolume, Transfer, Volume};
use crate::counts::{Counts, GroupSource};
use crate::error::{AnalysisError, Result};
use crate::sites::SiteOps;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use superstep_trace::Launch;

/// Number of shards: more than cores, so that uneven shards even out; a power of two.
const SHARDS: usize = 64;

/// What to keep beside the volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep every transfer from CTA to CTA: 32 bytes of memory for each, at worst one for each pair of CTAs of each
    /// pair of launches.
    pub transfers: bool,
    /// Keep the distances between the addresses of communicating accesses: a quarter more memory for each byte that
    /// kernels have written, and 24 bytes for each run of stores side by side that communicates.
    pub strides: bool,
}

/// Analyses communication launch by launch.
///
/// Memory: two bytes for each byte that kernels have written (eight where they wrote parts of words), and 24 bytes for each
/// access group of the current launch, or for each access where a group is scattered.
pub struct Engine {
    options: Options,
    shards: Vec<Shard>,
    host: HostRanges,
    launches: Vec<LaunchVolume>,
    /// Kernel number of each launch.
    kernel_of: Vec<u32>,
    kernel_numbers: FxHashMap<String, u32>,
    flows: Vec<Flow>,
    transfers: Vec<Transfer>,
    strides: Vec<LaunchStrides>,
}

impl Engine {
    /// Nothing has run yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            shards: (0..SHARDS).map(|_| Shard::new(options)).collect(),
            host: HostRanges::default(),
            launches: Vec::new(),
            kernel_of: Vec::new(),
            kernel_numbers: FxHashMap::default(),
            flows: Vec::new(),
            transfers: Vec::new(),
            strides: Vec::new(),
        }
    }

    /// The host wrote `bytes` bytes from `address` on.
    pub fn host_wrote(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        self.host.insert(address, end);
        self.set(address, end, Tag::HOST);
    }

    /// Memory came to life or went away: nobody has written these bytes.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        self.host.remove(address, end);
        self.set(address, end, Tag::NEVER);
    }

    fn set(&mut self, start: u64, end: u64, tag: Tag) {
        if start >= end {
            return;
        }
        let numbers = page_of(start)..=page_of(end - 1);
        let known: usize = self.shards.iter().map(Shard::pages).sum();
        if numbers.end() - numbers.start() > known as u64 {
            for shard in &mut self.shards {
                shard.set_all(start, end, tag);
            }
        } else {
            for number in numbers {
                self.shards[shard_of(number)].set(number, start, end, tag);
            }
        }
    }

    /// Analyses the next launch and returns its counts. `source` gives all of its access groups; those of one thread in
    /// program order.
    ///
    /// # Errors
    /// Those of `source`; [`AnalysisError::UnknownSite`]; [`AnalysisError::TooLarge`]. After an error the engine's
    /// results mean nothing.
    pub fn launch(
        &mut self,
        launch: &Launch,
        ops: &SiteOps,
        source: &impl GroupSource,
    ) -> Result<Counts> {
        let position = self.launches.len() as u64;
        let position = u32::try_from(position)
            .ok()
            .filter(|&position| position < u32::MAX - 1)
            .ok_or(AnalysisError::TooLarge {
                what: "the number of launches",
                value: position,
                limit: u64::from(u32::MAX) - 1,
            })?;
        let wide = WideAccesses::default();
        let chunks: Vec<Collected> = (0..source.chunks())
            .into_par_iter()
            .map(|chunk| collect(source, chunk, ops, &wide))
            .collect::<Result<_>>()?;

        let mut counts = Counts::default();
        let mut by_shard: Vec<Vec<Vec<Record>>> = (0..SHARDS).map(|_| Vec::new()).collect();
        for chunk in chunks {
            counts.add(&chunk.counts);
            for (shard, records) in chunk.shards.into_iter().enumerate() {
                if !records.is_empty() {
                    by_shard[shard].push(records);
                }
            }
        }

        let next = self.kernel_numbers.len() as u32;
        let kernel = *self
            .kernel_numbers
            .entry(launch.kernel.clone())
            .or_insert(next);
        self.kernel_of.push(kernel);
        let view = View {
            launch: position,
            kernel,
            kernels: &self.kernel_of,
        };
        let host = &self.host;
        self.shards
            .par_iter_mut()
            .zip(by_shard)
            .filter(|(_, records)| !records.is_empty())
            .for_each(|(shard, records)| shard.launch(&view, host, &records));

        self.launches.push(LaunchVolume {
            stream: launch.stream,
            superstep: launch.launch,
            kernel: launch.kernel.clone(),
            volume: Volume {
                loaded_bytes: counts.loaded_bytes + counts.atomic_bytes,
                stored_bytes: counts.stored_bytes + counts.atomic_bytes,
                ..Volume::default()
            },
        });
        self.gather(position);
        Ok(counts)
    }

    /// Takes what the shards found in the launch at `position`.
    fn gather(&mut self, position: u32) {
        let volume = &mut self.launches[position as usize].volume;
        let mut flows: BTreeMap<u32, Amount> = BTreeMap::new();
        let mut transfers: Vec<Received> = Vec::new();
        let mut loads = Runs::default();
        let mut wide: Vec<(u32, u32, Tag)> = Vec::new();
        for shard in &mut self.shards {
            let sums = std::mem::take(&mut shard.out.sums);
            volume.communicated_loaded_bytes += sums.communicated;
            volume.self_loaded_bytes += sums.own;
            volume.input_loaded_bytes += sums.input;
            volume.uninitialised_loaded_bytes += sums.uninitialised;
            volume.local_loaded_bytes += sums.local;
            volume.several_writers_bytes += sums.several_writers;
            volume.racing_bytes += sums.racing;
            for (launch, amount) in shard.out.flows.drain() {
                flows
                    .entry(launch)
                    .or_default()
                    .add(amount.bytes, amount.count);
            }
            transfers.append(&mut shard.out.transfers);
            shard.out.transfers.shrink_to(1024);
            shard.out.loads.drain_into(&mut loads);
            wide.extend(shard.out.wide.drain());
        }
        // An access across a page border counts once for a source, however many of its pages hold that source's bytes.
        wide.sort_unstable();
        wide.dedup();
        for (cta, _, source) in wide {
            if let Some(launch) = source.launch() {
                flows.entry(launch).or_default().add(0, 1);
            }
            if self.options.transfers {
                transfers.push(Received {
                    source,
                    cta,
                    bytes: 0,
                    count: 1,
                });
            }
        }
        for (&source_launch, amount) in &flows {
            volume.received_bytes += amount.bytes;
            volume.received_count += amount.count;
            self.flows.push(Flow {
                source_launch,
                receiver_launch: position,
                bytes: amount.bytes,
                count: amount.count,
            });
        }
        transfers.par_sort_unstable();
        for parts in transfers.chunk_by(|a, b| (a.source, a.cta) == (b.source, b.cta)) {
            let Some(source_launch) = parts[0].source.launch() else {
                continue;
            };
            self.transfers.push(Transfer {
                source_launch,
                source_cta: parts[0].source.cta_number(),
                receiver_launch: position,
                receiver_cta: parts[0].cta,
                bytes: parts.iter().map(|part| u64::from(part.bytes)).sum(),
                count: parts.iter().map(|part| u64::from(part.count)).sum(),
            });
        }
        if self.options.strides {
            let mut strides = LaunchStrides::default();
            for (_, counts) in loads.distances() {
                add(&mut strides.loads, &counts);
            }
            self.strides.push(strides);
        }
    }

    /// The tables over everything that was analysed.
    #[must_use]
    pub fn finish(mut self) -> Communication {
        for shard in &self.shards {
            let stored = shard.out.communicated_stored();
            for (launch, bytes) in self.launches.iter_mut().zip(stored) {
                launch.volume.communicated_stored_bytes += bytes;
            }
        }
        let mut stores = Runs::default();
        for shard in self.shards.drain(..) {
            stores.append(shard.into_stores());
        }
        for (launch, counts) in stores.distances() {
            if let Some(strides) = self.strides.get_mut(launch as usize) {
                strides.stores = counts;
            }
        }
        let mut kernels: Vec<KernelVolume> = Vec::new();
        let mut total = Volume::default();
        for (launch, &kernel) in self.launches.iter().zip(&self.kernel_of) {
            total.add(&launch.volume);
            if kernel as usize == kernels.len() {
                kernels.push(KernelVolume {
                    kernel: launch.kernel.clone(),
                    launches: 0,
                    volume: Volume::default(),
                });
            }
            let entry = &mut kernels[kernel as usize];
            entry.launches += 1;
            entry.volume.add(&launch.volume);
        }
        self.flows.sort_unstable();
        self.transfers.par_sort_unstable();
        Communication {
            launches: self.launches,
            kernels,
            total,
            flows: self.flows,
            transfers: self.transfers,
            strides: self.strides,
        }
    }
}

/// Records of one chunk by shard, in file order.
struct Collected {
    counts: Counts,
    shards: Vec<Vec<Record>>,
}

fn collect(
    source: &impl GroupSource,
    chunk: usize,
    ops: &SiteOps,
    wide: &WideAccesses,
) -> Result<Collected> {
    let mut collected = Collected {
        counts: Counts::default(),
        shards: (0..SHARDS).map(|_| Vec::new()).collect(),
    };
    source.read(chunk, &mut |group| {
        let op = ops.op(group.site)?;
        if group.cta == Tag::SEVERAL_CTAS {
            return Err(AnalysisError::TooLarge {
                what: "a CTA number",
                value: u64::from(group.cta),
                limit: u64::from(Tag::SEVERAL_CTAS) - 1,
            });
        }
        collected.counts.group(group, op);
        cut(group, op, wide, |record| {
            collected.shards[shard_of(record.page())].push(record);
        });
        Ok(())
    })?;
    Ok(collected)
}

/// Shard of page `number`.
#[inline]
fn shard_of(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SHARDS.trailing_zeros())) as usize
}

const _: () = assert!(SHARDS.is_power_of_two() && PAGE_BYTES.is_power_of_two());
