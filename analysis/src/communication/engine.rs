//! The engine, which turns launches and host writes into tables.

use super::input::block::{Overflow, recycle};
use super::input::decode::{Decoded, Decoder};
use super::input::record::Record;
use super::output::detail::{Found, Regions};
use super::output::kept::Kept;
use super::output::loads::{KeptLoads, Span};
use super::output::part::LaunchPart;
use super::output::results::{Analysed, Results};
use super::output::strides::{Run, distances};
use super::output::transfers::Transfers;
use super::output::volume::{Communication, Transfer, by_kernel};
use super::spill::file::SpillFolder;
use super::spill::limit::{Budget, MemoryLimit};
use super::spill::sorted::Sorted;
use super::state::exact::Matching;
use super::state::host::Untraced;
use super::state::shadow::Tag;
use super::state::shard::Event;
use super::state::shards::{LaunchContext, LaunchResult, Program, Shards};
use crate::counts::{Counts, GroupSource};
use crate::error::{AnalysisError, Result};
use crate::sites::SiteOps;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use superstep_trace::{AllocationId, Cancellation, Launch};

/// Results to keep in addition to the volumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether to keep every transfer between CTAs. Each takes 32 bytes of memory; at worst, there is one for each pair
    /// of CTAs in each pair of launches.
    pub transfers: bool,
    /// Whether to keep the distances between the addresses of communicating accesses. They add a quarter to
    /// the memory for each written byte, and take 24 bytes for each run of adjacent stores that communicate.
    pub strides: bool,
    /// Whether to keep communication by instruction and by allocation, and the launches' footprints. They add an
    /// eighth to the memory for each accessed byte. Ignored with [`Matching::ExactAddress`].
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

    /// Returns the options that keep only the volumes and transfers.
    pub fn transfers() -> Self {
        Self {
            transfers: true,
            ..Self::default()
        }
    }

    pub(crate) fn matches_addresses(&self) -> bool {
        self.matching == Matching::ExactAddress
    }
}

/// Results of an engine that has analysed some of the pages.
pub(crate) struct PartEnd {
    /// Stored bytes that another entity read, by storing launch.
    pub(crate) stored: Vec<u64>,
    pub(crate) found: Found,
    pub(crate) transfers: Sorted<Transfer>,
    pub(crate) loads: Sorted<Span>,
    pub(crate) stores: Sorted<Run>,
    pub(crate) written_copies: BTreeSet<u32>,
}

/// Results of an engine.
pub struct EngineEnd {
    pub communication: Communication,
    /// Counts by launch.
    pub counts: Vec<Counts>,
    /// Copies passed to [`Engine::copied`] with at least one byte that the host or a kernel had written.
    pub written_copies: BTreeSet<u32>,
}

// Limits on a batch of launches: large enough to keep all threads busy, small enough to fit in memory.

/// Maximum number of accesses in a batch, per host thread; each takes 24 bytes if all are scattered.
const BATCH_ACCESSES: u64 = 4 << 20;
/// Number of accesses, per host thread, at which a single batch keeps all threads busy.
const SATURATING_ACCESSES: u64 = 1 << 20;
/// Number of chunks, per host thread, at which a batch is complete.
const BATCH_CHUNKS: usize = 4;
/// Number of launches and host events at which a batch is complete.
const BATCH_EVENTS: usize = 1 << 12;

/// Launches with accesses that have not been read yet.
#[derive(Default)]
struct Waiting<'a> {
    launches: Vec<LaunchContext>,
    sources: Vec<Box<dyn GroupSource + 'a>>,
    accesses: u64,
    chunks: usize,
    events: usize,
}

/// Analyses communication. Launches wait until there is work for all threads; while the shards analyse them, the
/// accesses of the next ones are read and the results of the previous ones are added to the tables.
///
/// Memory: two bytes for each byte that kernels have written (eight where they wrote parts of words), and 24 bytes for
/// each access group of the launches in progress, or for each access of a scattered group. Data that exceeds a
/// [`MemoryLimit`] is moved to temporary files.
pub struct Engine<'a> {
    options: Options,
    limit: MemoryLimit,
    budget: Budget,
    cancellation: Cancellation,
    shards: Shards,
    pub(crate) decoder: Decoder,
    waiting: Waiting<'a>,
    /// Launches with accesses that have been read.
    ready: Vec<(LaunchContext, Decoded)>,
    /// Launches with results that are not in the tables yet, and their communicating loads.
    analysed: Option<(Vec<Analysed>, KeptLoads)>,
    pub(crate) overflow: Overflow,
    untraced: Arc<Untraced>,
    /// Whether all allocations are still marked as last written by an opaque launch.
    is_unknown: bool,
    regions: Arc<Regions>,
    /// Copies of bytes that no host call had written, each with a flag that is set if a kernel had written any.
    copied: Vec<(u32, Arc<AtomicBool>)>,
    written_copies: BTreeSet<u32>,
    pub(crate) results: Results,
    pub(crate) counts: Vec<Counts>,
    kernel_of: Vec<u32>,
    kernel_numbers: FxHashMap<String, u32>,
    kept: Kept,
}

impl<'a> Engine<'a> {
    /// Creates an engine for a program with these sites; `cancellation` also stops work that does not read the capture.
    pub fn new(
        ops: SiteOps,
        options: Options,
        limit: &MemoryLimit,
        cancellation: Cancellation,
    ) -> Self {
        let budget = limit.budget();
        let folder = Arc::new(SpillFolder::new(limit.spill_into.clone()));
        Self {
            options,
            shards: Shards::new(options, budget, folder.clone()),
            decoder: Decoder::new(ops, options),
            waiting: Waiting::default(),
            ready: Vec::new(),
            analysed: None,
            overflow: Overflow::new(budget.record_bytes, folder),
            untraced: Arc::default(),
            is_unknown: false,
            regions: Arc::default(),
            copied: Vec::new(),
            written_copies: BTreeSet::new(),
            results: Results::new(options),
            counts: Vec::new(),
            kernel_of: Vec::new(),
            kernel_numbers: FxHashMap::default(),
            kept: Kept::new(limit, cancellation),
            limit: limit.clone(),
            budget,
            cancellation,
        }
    }

    pub fn host_wrote(&mut self, address: u64, bytes: u64) -> Result<()> {
        let end = address.saturating_add(bytes);
        self.set(address, end, Tag::HOST)
    }

    /// Marks bytes as unwritten after memory has been allocated or freed.
    pub fn forget(&mut self, address: u64, bytes: u64) -> Result<()> {
        let end = address.saturating_add(bytes);
        self.set(address, end, Tag::UNWRITTEN)
    }

    /// Records an execution of untraced code that may have written to any allocation.
    pub fn opaque_launch(&mut self) -> Result<()> {
        if !self.is_unknown {
            let live = self.regions.clone();
            for (start, end) in live.ranges() {
                self.set(start, end, Tag::UNKNOWN)?;
            }
            self.is_unknown = true;
        }
        Ok(())
    }

    /// Records an execution of untraced code that may have written to these bytes but to no others.
    pub fn opaque_wrote(&mut self, address: u64, bytes: u64) -> Result<()> {
        let was_unknown = self.is_unknown;
        self.set(address, address.saturating_add(bytes), Tag::UNKNOWN)?;
        self.is_unknown = was_unknown;
        Ok(())
    }

    /// Registers allocation `id`; does not change the writers of its bytes (see [`Engine::forget`]).
    pub fn allocated(&mut self, id: AllocationId, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        Arc::make_mut(&mut self.regions).insert(address, end, id);
        self.is_unknown = false;
    }

    pub fn freed(&mut self, address: u64, bytes: u64) {
        Arc::make_mut(&mut self.regions).remove(address, address.saturating_add(bytes));
    }

    /// Returns the allocation that contains all of these bytes, if there is one.
    pub fn allocation_of(&self, address: u64, bytes: u64) -> Option<AllocationId> {
        let end = address.saturating_add(bytes);
        self.regions.sole_allocation(address, end).flatten()
    }

    pub fn launches(&self) -> u32 {
        self.results.launches.len() as u32
    }

    fn set(&mut self, start: u64, end: u64, tag: Tag) -> Result<()> {
        if start >= end {
            return Ok(());
        }
        self.is_unknown = false;
        Arc::make_mut(&mut self.untraced).set(start, end, tag);
        self.event(start, end, &Event::Written(tag))
    }

    fn event(&mut self, start: u64, end: u64, event: &Event) -> Result<()> {
        let is_idle = self.waiting.launches.is_empty() && self.ready.is_empty();
        let next_launch = self.launches();
        self.shards.add((start, end), event, next_launch, is_idle);
        self.waiting.events += 1;
        match self.waiting.events >= BATCH_EVENTS {
            true => self.advance(),
            false => Ok(()),
        }
    }

    /// Records that the host copies these bytes from the device. [`EngineEnd::written_copies`] says whether the host or
    /// a kernel, traced or not, had written any of them since they were allocated; with [`Matching::ExactAddress`], it
    /// always says that one had.
    pub fn copied(&mut self, copy: u32, address: u64, bytes: u64) -> Result<()> {
        let end = address.saturating_add(bytes);
        let by_host = self.untraced.parts(address, end).next().is_some();
        if by_host || self.options.matches_addresses() {
            self.written_copies.insert(copy);
        } else if address < end {
            let written = Arc::<AtomicBool>::default();
            self.copied.push((copy, written.clone()));
            self.event(address, end, &Event::Copied(written))?;
        }
        Ok(())
    }

    /// Adds the next launch. `source` provides all access groups, with each thread's accesses in program order. After
    /// an error, the engine's results are meaningless.
    pub fn launch(&mut self, launch: &Launch, source: impl GroupSource + 'a) -> Result<()> {
        let context = self.begin(launch)?;
        let (accesses, chunks) = (source.max_thread_accesses(), source.chunks());
        let max_records = (self.budget.record_bytes / size_of::<Record>()) as u64;
        if accesses > max_records / 2 {
            self.catch_up()?;
            return self.large_launch(context, &source);
        }
        let threads = rayon::current_num_threads();
        let max_accesses = (BATCH_ACCESSES * threads as u64).min(max_records / 4);
        if self.waiting.accesses + accesses > max_accesses {
            self.advance()?;
        }
        let waiting = &mut self.waiting;
        waiting.launches.push(context);
        waiting.sources.push(Box::new(source));
        waiting.accesses += accesses;
        waiting.chunks += chunks;
        waiting.events += 1;
        match waiting.chunks >= BATCH_CHUNKS * threads || waiting.events >= BATCH_EVENTS {
            true => self.advance(),
            false => Ok(()),
        }
    }

    /// Analyses the launches that have been read and reads the waiting ones. Both need memory, so they run in
    /// parallel only if the waiting launches are too small to keep all threads busy.
    fn advance(&mut self) -> Result<()> {
        let Waiting {
            launches,
            sources,
            accesses,
            chunks,
            ..
        } = std::mem::take(&mut self.waiting);
        let threads = rayon::current_num_threads();
        if chunks >= BATCH_CHUNKS * threads && accesses >= SATURATING_ACCESSES * threads as u64 {
            // The shards need the memory that was kept for reuse.
            self.decoder.spare.clear();
            self.analyse_and_read(&[])?;
        }
        let read = self.analyse_and_read(&sources)?;
        for (context, launch) in launches.into_iter().zip(read) {
            self.add_counts(context.position, &launch);
            self.ready.push((context, launch));
        }
        Ok(())
    }

    /// Analyses the launches that have been read, reads those of `sources`, and adds the previous results to the
    /// tables.
    fn analyse_and_read(&mut self, sources: &[Box<dyn GroupSource + 'a>]) -> Result<Vec<Decoded>> {
        let ready = std::mem::take(&mut self.ready);
        let analysed = self.analysed.take();
        let (decoder, shards, results) = (&self.decoder, &mut self.shards, &mut self.results);
        let (kernels, kept) = (&*self.kernel_of, &self.kept);
        let program = Program {
            ops: &decoder.ops,
            kernels,
            kept,
            cancellation: self.cancellation,
        };
        let ((parts, read), added) = rayon::join(
            || {
                rayon::join(
                    || shards.launches(&ready, program, None),
                    || decoder.launches(sources),
                )
            },
            || match analysed {
                Some((launches, loads)) => results.add(launches, loads, kernels, kept),
                None => Ok(()),
            },
        );
        added?;
        self.collect(ready, parts?);
        read
    }

    /// Keeps the results of launches until they are added to the tables, and the memory of their records for reuse.
    fn collect(&mut self, launches: Vec<(LaunchContext, Decoded)>, parts: Vec<LaunchResult>) {
        let mut blocks = Vec::new();
        let mut analysed = Vec::with_capacity(launches.len());
        for ((context, launch), result) in launches.into_iter().zip(parts) {
            blocks.extend(launch.blocks);
            analysed.push(Analysed {
                position: context.position,
                counts: launch.counts,
                wide: launch.wide,
                result,
            });
        }
        recycle(blocks, &self.decoder.spare);
        if !analysed.is_empty() {
            let none = KeptLoads::new(&self.limit, self.cancellation);
            let loads = std::mem::replace(&mut self.kept.loads, none);
            self.analysed = Some((analysed, loads));
        }
    }

    /// Analyses all launches added so far and adds their results to the tables.
    fn catch_up(&mut self) -> Result<()> {
        while !self.waiting.launches.is_empty() || !self.ready.is_empty() || self.analysed.is_some()
        {
            self.advance()?;
        }
        Ok(())
    }

    /// Analyses one launch, with records on disk if they do not fit in memory.
    fn large_launch(&mut self, context: LaunchContext, source: &dyn GroupSource) -> Result<()> {
        let (decoder, overflow) = (&self.decoder, &mut self.overflow);
        let launch =
            decoder.in_parts(source, |blocks| overflow.make_room(blocks, &decoder.spare))?;
        self.add_counts(context.position, &launch);
        let launches = vec![(context, launch)];
        let parts = self.run_shards(&launches)?;
        self.collect(launches, parts);
        self.catch_up()
    }

    /// Runs the shards on launches that may have records on disk. All earlier launches must have been analysed.
    pub(crate) fn run_shards(
        &mut self,
        launches: &[(LaunchContext, Decoded)],
    ) -> Result<Vec<LaunchResult>> {
        // The shards need the memory that was kept for reuse when blocks were moved to disk.
        self.decoder.spare.clear();
        let program = Program {
            ops: &self.decoder.ops,
            kernels: &self.kernel_of,
            kept: &self.kept,
            cancellation: self.cancellation,
        };
        let file = self.overflow.file.as_ref();
        let parts = self.shards.launches(launches, program, file)?;
        self.overflow.clear()?;
        Ok(parts)
    }

    fn add_counts(&mut self, position: u32, launch: &Decoded) {
        self.counts[position as usize] = launch.counts;
        let sites = launch.sites.iter();
        sites.for_each(|sites| self.results.found.add_accessed(sites.counted()));
    }

    pub(crate) fn begin(&mut self, launch: &Launch) -> Result<LaunchContext> {
        let limit = u32::MAX - 1;
        let position = u32::try_from(self.results.launches.len()).unwrap_or(limit);
        if position >= limit {
            return Err(AnalysisError::TooLarge {
                what: "the number of launches",
                value: self.results.launches.len() as u64,
                limit: u64::from(limit),
            });
        }
        self.is_unknown = false;
        let next = self.kernel_numbers.len() as u32;
        let kernel = self.kernel_numbers.entry(launch.kernel.clone());
        self.kernel_of.push(*kernel.or_insert(next));
        self.results.begin(launch);
        self.counts.push(Counts::default());
        Ok(LaunchContext {
            position,
            untraced: self.untraced.clone(),
            regions: self.regions.clone(),
        })
    }

    /// Adds the results of the launch at `position` to the tables.
    pub(crate) fn add_launch(&mut self, position: u32, part: LaunchPart) {
        let kernel = self.kernel_of[position as usize];
        self.results.add_launch(position, kernel, part);
    }

    /// Analyses the remaining launches and collects the shards' results for the whole run.
    fn end_shards(&mut self) -> Result<()> {
        self.catch_up()?;
        for out in self.shards.take() {
            let mut out = out?;
            self.kept.take(&mut out)?;
            self.results.found.add(std::mem::take(&mut out.details));
            for (launch, bytes) in self
                .results
                .launches
                .iter_mut()
                .zip(&out.communicated_stored)
            {
                launch.volume.communicated_stored_bytes += bytes;
            }
        }
        for (copy, written) in self.copied.drain(..) {
            if written.load(Ordering::Relaxed) {
                self.written_copies.insert(copy);
            }
        }
        Ok(())
    }

    /// Returns the results of an engine that has analysed only some of the pages; its launches have not been settled.
    pub(crate) fn finish_part(mut self) -> Result<PartEnd> {
        self.end_shards()?;
        let launches = self.results.launches.iter();
        Ok(PartEnd {
            stored: (launches.map(|launch| launch.volume.communicated_stored_bytes)).collect(),
            found: self.results.found,
            transfers: self.kept.transfers.finish()?,
            loads: self.kept.loads.finish()?,
            stores: self.kept.stores.finish()?,
            written_copies: self.written_copies,
        })
    }

    pub fn finish(mut self) -> Result<EngineEnd> {
        self.end_shards()?;
        let Kept {
            stores, transfers, ..
        } = self.kept;
        let mut results = self.results;
        let (counted, transfers) = rayon::join(
            || distances(stores, |launch, counts| results.add_stores(launch, counts)),
            || transfers.finish(),
        );
        counted?;
        let (kernels, total) = by_kernel(&results.launches);
        results.flows.sort_unstable();
        if !self.options.details || self.options.matches_addresses() {
            results.found = Found::default();
        }
        let (found, footprints) = results.found.into_rows();
        let communication = Communication {
            launches: results.launches,
            kernels,
            total,
            flows: results.flows,
            transfers: Transfers::new(transfers?),
            strides: results.strides,
            site_flows: results.site_flows,
            arrays: found.arrays,
            within_launch: found.within_launch,
            accessed: found.accessed,
            footprints,
            unwritten: results.unwritten.into_rows(),
        };
        Ok(EngineEnd {
            communication,
            counts: self.counts,
            written_copies: self.written_copies,
        })
    }
}
