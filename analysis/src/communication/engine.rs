//! The engine, which turns launches and host writes into tables.

use super::input::block::{
    Block, Collected, Pool, SHARDS, Spare, collect, recycle, shard_of, shards_of_a_task, spill,
};
use super::input::phases::Phases;
use super::input::record::{Record, WideAccess, WideAccesses};
use super::output::detail::{Found, Regions, SiteFlow, site_flows};
use super::output::kept::Kept;
use super::output::part::{LaunchPart, WideSource};
use super::output::strides::{LaunchStrides, Run, StrideCounts, add, distances};
use super::output::sums::View;
use super::output::transfers::Transfers;
use super::output::volume::{Communication, Flow, LaunchVolume, Transfer, Volume, by_kernel};
use super::spill::file::{SpillFile, SpillFolder};
use super::spill::limit::{Budget, MemoryLimit};
use super::spill::sorted::Sorted;
use super::state::exact::Matching;
use super::state::host::Untraced;
use super::state::shadow::{Tag, page_of};
use super::state::shard::{Records, Scratch, Shard};
use super::state::unwritten::Unwritten;
use crate::counts::{Counts, GroupSource};
use crate::error::{AnalysisError, Result};
use crate::sites::SiteOps;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use superstep_trace::{AllocationId, Cancellation, Launch};

/// Results to keep in addition to the volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether to keep every transfer from CTA to CTA: 32 bytes of memory for each, at worst one for each pair of CTAs of
    /// each pair of launches.
    pub transfers: bool,
    /// Whether to keep the distances between the addresses of communicating accesses: a quarter more memory for each byte
    /// that kernels have written, and 24 bytes for each run of adjacent stores that communicate.
    pub strides: bool,
    /// Whether to keep communication by instruction and by allocation, and the launches' footprints: an eighth more memory
    /// for each byte that kernels have accessed. Ignored with [`Matching::ExactAddress`].
    pub details: bool,
    pub matching: Matching,
}

impl Options {
    /// Returns the options that the tables and figures need: transfers, strides and details.
    pub fn everything() -> Self {
        Self {
            transfers: true,
            strides: true,
            details: true,
            matching: Matching::Bytes,
        }
    }

    pub(crate) fn matches_addresses(&self) -> bool {
        self.matching == Matching::ExactAddress
    }
}

/// Results of an engine other than the per-launch sums.
pub(crate) struct EngineEnd {
    /// Stored bytes that another entity read, by storing launch.
    pub(crate) stored: Vec<u64>,
    pub(crate) found: Found,
    pub(crate) transfers: Sorted<Transfer>,
    pub(crate) loads: Sorted<Run>,
    pub(crate) stores: Sorted<Run>,
}

/// Analyses communication launch by launch.
///
/// Memory: two bytes for each byte that kernels have written (eight where they wrote parts of words), and 24 bytes for each
/// access group of the current launch, or for each access of a scattered group. Data that exceeds a [`MemoryLimit`] is moved
/// to temporary files.
pub struct Engine {
    options: Options,
    limit: MemoryLimit,
    budget: Budget,
    cancellation: Cancellation,
    folder: Arc<SpillFolder>,
    shards: Vec<Shard>,
    scratch: Pool<Scratch>,
    flat: Pool<Vec<Record>>,
    pub(crate) spare: Spare,
    /// Records of the current launch that did not fit in memory.
    spilled: Option<SpillFile>,
    untraced: Untraced,
    /// Whether nothing has written to memory since the last opaque launch that may have written to any allocation.
    is_unknown: bool,
    regions: Regions,
    pub(crate) found: Found,
    unwritten: Unwritten,
    launches: Vec<LaunchVolume>,
    kernel_of: Vec<u32>,
    kernel_numbers: FxHashMap<String, u32>,
    flows: Vec<Flow>,
    site_flows: Vec<SiteFlow>,
    strides: Vec<LaunchStrides>,
    kept: Kept,
}

impl Engine {
    /// Creates an engine; `cancellation` also ends work that does not read the capture.
    pub fn new(options: Options, limit: &MemoryLimit, cancellation: Cancellation) -> Self {
        let budget = limit.budget();
        let folder = Arc::new(SpillFolder::new(limit.spill_into.clone()));
        Self {
            options,
            shards: (0..SHARDS).map(|_| Shard::new(options)).collect(),
            scratch: Pool::new(),
            flat: Pool::new(),
            spare: Spare::new(),
            spilled: None,
            untraced: Untraced::default(),
            is_unknown: false,
            regions: Regions::default(),
            found: Found::default(),
            unwritten: Unwritten::default(),
            launches: Vec::new(),
            kernel_of: Vec::new(),
            kernel_numbers: FxHashMap::default(),
            flows: Vec::new(),
            site_flows: Vec::new(),
            strides: Vec::new(),
            kept: Kept::new(limit, cancellation),
            limit: limit.clone(),
            budget,
            cancellation,
            folder,
        }
    }

    pub fn host_wrote(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        self.set(address, end, Tag::HOST);
    }

    /// Marks bytes as unwritten after memory has been allocated or freed.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        self.set(address, end, Tag::NEVER);
    }

    /// Records a run of untraced code that may have written to any allocation.
    pub fn opaque_launch(&mut self) {
        if !self.is_unknown {
            let live: Vec<_> = self.regions.ranges().collect();
            for (start, end) in live {
                self.set(start, end, Tag::UNKNOWN);
            }
            self.is_unknown = true;
        }
    }

    /// Records a run of untraced code that may have written to these bytes but to no others.
    pub fn opaque_wrote(&mut self, address: u64, bytes: u64) {
        let before = self.is_unknown;
        self.set(address, address.saturating_add(bytes), Tag::UNKNOWN);
        self.is_unknown = before;
    }

    /// Registers allocation `id`; does not change the writers of its bytes (see [`Engine::forget`]).
    pub fn allocated(&mut self, id: AllocationId, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        self.regions.insert(address, end, id);
        self.is_unknown = false;
    }

    pub fn freed(&mut self, address: u64, bytes: u64) {
        self.regions.remove(address, address.saturating_add(bytes));
    }

    /// Returns the allocation that contains all of these bytes, if there is one.
    pub fn allocation_of(&self, address: u64, bytes: u64) -> Option<AllocationId> {
        let end = address.saturating_add(bytes);
        self.regions.only(address, end).flatten()
    }

    pub fn launches(&self) -> u32 {
        self.launches.len() as u32
    }

    fn set(&mut self, start: u64, end: u64, tag: Tag) {
        if start >= end {
            return;
        }
        self.is_unknown = false;
        self.untraced.set(start, end, tag);
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

    /// Returns whether neither the host nor a kernel, traced or not, has written any of these bytes since they were
    /// allocated. Always false with [`Matching::ExactAddress`].
    pub fn nothing_wrote(&mut self, address: u64, bytes: u64) -> Result<bool> {
        let end = address.saturating_add(bytes);
        let mut untraced = self.untraced.parts(address, end);
        if self.options.matches_addresses() || untraced.next().is_some() {
            return Ok(false);
        }
        let pages = page_of(address)..=page_of(end.saturating_sub(1));
        for number in pages.filter(|_| bytes > 0) {
            let at = shard_of(number);
            let shard = &mut self.shards[at];
            shard.swap_in(&self.folder, &format!("pages-{at}"))?;
            if !shard.nothing_wrote(number, address, end) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Analyses the next launch and returns its counts. `source` provides all access groups; those of any one thread are in
    /// program order. After an error, the engine's results are meaningless.
    pub fn launch(
        &mut self,
        launch: &Launch,
        ops: &SiteOps,
        source: &impl GroupSource,
    ) -> Result<Counts> {
        let position = self.begin(launch)?;
        let (counts, blocks, wide) = self.blocks(ops, source)?;
        let (mut part, mut sources) = self.records(position, ops, blocks, &wide)?;
        // An access that crosses a page boundary counts once per source, no matter how many of its pages contain bytes from
        // that source.
        for (_, number, _) in &mut sources {
            *number = wide[*number as usize].first;
        }
        sources.sort_unstable();
        sources.dedup();
        let mut transfers = Vec::new();
        for (receiver_cta, _, source) in sources {
            transfers.extend(part.wide(position, receiver_cta, source));
        }
        if self.options.transfers {
            self.kept.transfers.append(transfers)?;
        }
        if self.options.strides {
            let next = self.limit.sorter("loads", self.cancellation);
            let loads = std::mem::replace(&mut self.kept.loads, next);
            let of_launch = &mut self.strides[position as usize];
            distances(loads, |_, counts| add(&mut of_launch.loads, counts))?;
        }
        part.counted(&counts);
        self.settle(position, part);
        Ok(counts)
    }

    pub(crate) fn begin(&mut self, launch: &Launch) -> Result<u32> {
        let limit = u32::MAX - 1;
        let position = u32::try_from(self.launches.len()).unwrap_or(limit);
        if position >= limit {
            return Err(AnalysisError::TooLarge {
                what: "the number of launches",
                value: self.launches.len() as u64,
                limit: u64::from(limit),
            });
        }
        self.is_unknown = false;
        let next = self.kernel_numbers.len() as u32;
        let kernel = self.kernel_numbers.entry(launch.kernel.clone());
        self.kernel_of.push(*kernel.or_insert(next));
        self.launches.push(LaunchVolume {
            stream: launch.stream,
            superstep: launch.launch,
            kernel: launch.kernel.clone(),
            volume: Volume::default(),
        });
        if self.options.strides {
            self.strides.push(LaunchStrides::default());
        }
        Ok(position)
    }

    /// Runs the shards on all records of the launch at `position`. Returns their sums and, separately, the parts of accesses
    /// that cross page boundaries.
    pub(crate) fn records(
        &mut self,
        position: u32,
        ops: &SiteOps,
        blocks: Vec<Block>,
        wide: &[WideAccess],
    ) -> Result<(LaunchPart, Vec<WideSource>)> {
        // Frees the memory that was kept for reuse when blocks were moved to disk: the shards need it.
        self.spare.clear();
        self.shards_of(position, ops, &blocks, wide)?;
        recycle(blocks, &self.spare);
        if let Some(file) = &mut self.spilled {
            file.clear()?;
        }
        Ok(self.gather())
    }

    /// Reads all chunks, several at a time, and cuts their groups into records.
    fn blocks(
        &mut self,
        ops: &SiteOps,
        source: &impl GroupSource,
    ) -> Result<(Counts, Vec<Block>, Vec<WideAccess>)> {
        let wide = WideAccesses::default();
        let mut counts = Counts::default();
        let mut blocks: Vec<Block> = Vec::with_capacity(source.chunks());
        let (mut in_memory, mut phases) = (0, Phases::default());
        let together = 8 * rayon::current_num_threads();
        for first in (0..source.chunks()).step_by(together) {
            let (flat, spare) = (&self.flat, &self.spare);
            let options = self.options;
            let read: Vec<Collected> = (first..source.chunks().min(first + together))
                .into_par_iter()
                .map(|chunk| {
                    flat.with(Vec::new, |flat| {
                        collect(source, chunk, ops, options, &wide, (flat, spare))
                    })
                })
                .collect::<Result<_>>()?;
            for of_chunk in read {
                counts += of_chunk.counts;
                self.found.add_accessed(of_chunk.sites.counted());
                let mut read = of_chunk.blocks;
                if !phases.is_empty() {
                    (read.par_iter_mut()).for_each(|block| block.advance(&phases));
                }
                phases.add(&of_chunk.phases);
                in_memory += read.iter().map(Block::bytes).sum::<usize>();
                blocks.extend(read);
            }
            self.make_room(&mut blocks, &mut in_memory)?;
        }
        Ok((counts, blocks, wide.into_accesses()))
    }

    /// Moves `blocks` to disk if they exceed the budget.
    pub(crate) fn make_room(&mut self, blocks: &mut Vec<Block>, bytes: &mut usize) -> Result<()> {
        if *bytes > self.budget.record_bytes {
            if self.spilled.is_none() {
                self.spilled = Some(SpillFile::create(&self.folder, "records")?);
            }
            if let Some(file) = &mut self.spilled {
                spill(blocks, file, &self.spare)?;
            }
            *bytes = 0;
        }
        Ok(())
    }

    /// Runs each shard on its records of the launch at `position`.
    fn shards_of(
        &mut self,
        position: u32,
        ops: &SiteOps,
        blocks: &[Block],
        wide: &[WideAccess],
    ) -> Result<()> {
        let view = View {
            launch: position,
            kernel: self.kernel_of[position as usize],
            kernels: &self.kernel_of,
            wide,
            regions: &self.regions,
            ops,
            kept: &self.kept,
            cancellation: self.cancellation,
        };
        let (untraced, folder, file) = (&self.untraced, &*self.folder, self.spilled.as_ref());
        let pages_bytes = AtomicUsize::new(self.shards.iter().map(|shard| shard.bytes).sum());
        (self.shards.par_iter_mut().enumerate())
            .with_min_len(shards_of_a_task(blocks))
            .filter(|(number, _)| blocks.iter().any(|block| block.count(*number) > 0))
            .try_for_each(|(number, shard)| {
                let name = format!("pages-{number}");
                let before = shard.bytes;
                shard.swap_in(folder, &name)?;
                self.scratch.with(Scratch::new, |scratch| {
                    let of = Records {
                        blocks,
                        shard: number,
                        file,
                        most: self.budget.shard_records,
                        folder,
                    };
                    shard.launch(&view, untraced, scratch, &of)
                })?;
                let after = shard.bytes;
                pages_bytes.fetch_add(after, Ordering::Relaxed);
                let all = pages_bytes.fetch_sub(before, Ordering::Relaxed) - before;
                if all > self.budget.page_bytes {
                    shard.swap_out(folder, &name)?;
                    pages_bytes.fetch_sub(after, Ordering::Relaxed);
                }
                self.kept.take_launch(&mut shard.out)
            })
    }

    /// Collects the shards' results for the latest launch.
    fn gather(&mut self) -> (LaunchPart, Vec<WideSource>) {
        let (mut part, mut wide) = (LaunchPart::default(), Vec::new());
        for shard in &mut self.shards {
            part.shard(&mut shard.out);
            wide.extend(shard.out.wide.drain());
        }
        (part, wide)
    }

    /// Adds the results of the launch at `position` to the tables.
    pub(crate) fn settle(&mut self, position: u32, part: LaunchPart) {
        if self.options.details {
            self.found.footprints.push(part.footprint);
        }
        let kernel = self.kernel_of[position as usize];
        self.unwritten.launch(position, kernel, part.unwritten);
        self.site_flows
            .extend(site_flows(position, part.site_flows));
        let volume = &mut self.launches[position as usize].volume;
        *volume += part.volume;
        for (source_launch, amount) in part.flows {
            volume.received_bytes += amount.bytes;
            volume.received_count += amount.count;
            self.flows.push(Flow {
                source_launch,
                receiver_launch: position,
                bytes: amount.bytes,
                count: amount.count,
            });
        }
    }

    /// Collects the shards' results over the whole run.
    fn end_shards(&mut self) -> Result<()> {
        for mut shard in self.shards.drain(..) {
            self.kept.take(&mut shard.out)?;
            self.found.add(std::mem::take(&mut shard.out.details));
            let stored = &shard.out.communicated_stored;
            for (launch, bytes) in self.launches.iter_mut().zip(stored) {
                launch.volume.communicated_stored_bytes += bytes;
            }
        }
        Ok(())
    }

    /// Returns the results of an engine that has analysed some of the pages; its launches are not finished.
    pub(crate) fn finish_part(mut self) -> Result<EngineEnd> {
        self.end_shards()?;
        let launches = self.launches.iter();
        Ok(EngineEnd {
            stored: (launches.map(|launch| launch.volume.communicated_stored_bytes)).collect(),
            found: self.found,
            transfers: self.kept.transfers.finish()?,
            loads: self.kept.loads.finish()?,
            stores: self.kept.stores.finish()?,
        })
    }

    pub fn finish(mut self) -> Result<Communication> {
        self.end_shards()?;
        let Kept {
            stores, transfers, ..
        } = self.kept;
        let strides = &mut self.strides;
        let count = |launch: u32, counts: &StrideCounts| {
            add(&mut strides[launch as usize].stores, counts);
        };
        let (counted, transfers) = rayon::join(|| distances(stores, count), || transfers.finish());
        counted?;
        let (kernels, total) = by_kernel(&self.launches);
        self.flows.sort_unstable();
        if !self.options.details || self.options.matches_addresses() {
            self.found = Found::default();
        }
        let (found, footprints) = self.found.into_rows();
        Ok(Communication {
            launches: self.launches,
            kernels,
            total,
            flows: self.flows,
            transfers: Transfers::new(transfers?),
            strides: self.strides,
            site_flows: self.site_flows,
            arrays: found.arrays,
            within_launch: found.within_launch,
            accessed: found.accessed,
            footprints,
            unwritten: self.unwritten.into_rows(),
        })
    }
}
