//! Analyses a whole capture: counts and communication in one pass over the accesses.

use crate::communication::{Communication, Engine, EngineEnd, Matching, MemoryLimit, Options};
use crate::counts::{CountTables, GroupSource, LaunchCounts};
use crate::error::{AnalysisError, Result};
use crate::in_situ::{self, InSitu};
use crate::metrics::opaque::{self, OpaqueRow};
use crate::metrics::timeline::{self, TimelineRow};
use crate::metrics::{AllocationInfo, UnwrittenCopy};
use crate::scan::{CaptureScan, Scanner, scan};
use crate::sites::SiteOps;
use std::collections::BTreeMap;
use superstep_trace::{
    AccessGroup, AllocationId, AllocationKind, Capture, ChunkRef, CopyDirection, CtaBlocks, Gap,
    GroupBuffer, HostEvent, Launch, LaunchRecord, ModuleTable, Recorded,
};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    pub counts: CountTables,
    pub communication: Communication,
    pub timeline: Vec<TimelineRow>,
    /// Opaque launches by kernel.
    pub opaque: Vec<OpaqueRow>,
    pub allocations: Vec<AllocationInfo>,
    /// Copies of unwritten memory to the host, by allocation.
    pub unwritten_copies: Vec<UnwrittenCopy>,
    /// Reason why loads of unwritten memory are unknown; `None` if they are known.
    pub initialisation_unknown: Option<String>,
    /// Bounds, if the run was in situ. In that case there are no strides, access widths or details.
    pub in_situ: Option<InSitu>,
}

impl Analysis {
    /// Returns an analysis without the results that need accesses.
    fn new(capture: &Capture, launches: Vec<LaunchCounts>, communication: Communication) -> Self {
        Self {
            counts: CountTables::new(launches, capture.sites()),
            communication,
            timeline: timeline::rows(capture),
            opaque: opaque::rows(capture),
            allocations: allocations_of(capture),
            ..Self::default()
        }
    }

    pub(crate) fn has_metrics(&self) -> bool {
        let communication = &self.communication;
        let in_situ = self.in_situ.as_ref();
        in_situ.is_some_and(|it| it.has_transfers) || !communication.strides.is_empty()
    }

    /// Returns the granularity of transfer endpoints: CTAs or blocks of CTAs.
    pub fn cta_blocks(&self) -> CtaBlocks {
        let in_situ = self.in_situ.as_ref();
        in_situ.map_or(CtaBlocks::default(), |it| it.cta_blocks)
    }

    /// Returns the grid of each launch, in units of [`Self::cta_blocks`].
    pub(crate) fn grids(&self) -> Vec<[u32; 3]> {
        let (launches, blocks) = (self.counts.launches.iter(), self.cta_blocks());
        let grids = launches.map(|counts| blocks.grid(counts.launch.grid));
        grids.collect()
    }
}

/// Computes the counts and the communication of a capture, on all threads of the current rayon pool.
///
/// Launches of all streams are analysed in the order of the host's calls. An incomplete capture ([`Capture::complete`])
/// is not an error: the result covers the part that exists. Fails if a chunk is damaged or names an unknown site, or if
/// only some launches have accesses.
pub fn analyse(capture: &Capture, options: Options) -> Result<Analysis> {
    analyse_within(capture, options, &MemoryLimit::none())
}

/// Like [`analyse`], but within a memory limit.
pub fn analyse_within(
    capture: &Capture,
    options: Options,
    limit: &MemoryLimit,
) -> Result<Analysis> {
    match in_situ::has_sums(capture)? {
        true => analyse_sums(capture, options, limit),
        false => analyse_trace(capture, options, limit, None),
    }
}

/// Like [`analyse_within`], but also verifies the accesses ([`scan`]) while they are read.
pub fn analyse_and_scan<'a>(
    capture: &'a Capture,
    options: Options,
    limit: &MemoryLimit,
) -> Result<(Analysis, CaptureScan<'a>)> {
    if in_situ::has_sums(capture)? {
        return Ok((analyse_sums(capture, options, limit)?, scan(capture)?));
    }
    let scanner = Scanner::new(capture);
    let analysis = analyse_trace(capture, options, limit, Some(&scanner))?;
    Ok((analysis, scanner.finish()))
}

fn analyse_trace<'a>(
    capture: &'a Capture,
    options: Options,
    limit: &MemoryLimit,
    scanner: Option<&'a Scanner<'a>>,
) -> Result<Analysis> {
    // Runs on a pool thread: passing each launch to another thread takes longer than analysing a small launch.
    rayon::scope(|_| {
        let ops = SiteOps::new(capture.sites());
        let mut engine = Engine::new(ops, options, limit, capture.cancellation);
        let mut accesses = CaptureAccesses { capture, scanner };
        let walk = walk(capture, &mut engine, &mut accesses)?;
        Ok(walk.into_analysis(capture, options, engine.finish()?))
    })
}

/// Source of the launches' accesses. The rest of an analysis is the same on one machine and on many.
pub(crate) trait Accesses<'a> {
    /// Feeds the accesses of the next launch to the engine.
    fn launch(&mut self, engine: &mut Engine<'a>, record: &LaunchRecord<'a>) -> Result<()>;
}

struct CaptureAccesses<'a> {
    capture: &'a Capture,
    scanner: Option<&'a Scanner<'a>>,
}

impl<'a> Accesses<'a> for CaptureAccesses<'a> {
    fn launch(&mut self, engine: &mut Engine<'a>, record: &LaunchRecord<'a>) -> Result<()> {
        let source = LaunchChunks {
            capture: self.capture,
            chunks: record.chunks,
            scanner: self.scanner.map(|scanner| (scanner, record.number)),
        };
        engine.launch(record.launch, source)
    }
}

#[derive(Default)]
pub(crate) struct Walk<'a> {
    launches: Vec<&'a Launch>,
    /// Copies of device memory to the host, with their indices.
    copies: Vec<(u32, UnwrittenCopy)>,
    gaps: Vec<&'a Gap>,
    is_partial: bool,
}

/// Replays the program into `engine`, in the order of the host's calls.
pub(crate) fn walk<'a>(
    capture: &'a Capture,
    engine: &mut Engine<'a>,
    accesses: &mut impl Accesses<'a>,
) -> Result<Walk<'a>> {
    let mut walk = Walk {
        is_partial: capture.header.selection.is_some(),
        ..Walk::default()
    };
    let mut copies_to_host = 0;
    for timed in capture.replay() {
        match timed.event {
            HostEvent::Launch(record) => {
                accesses.launch(engine, &record)?;
                walk.launches.push(record.launch);
                walk.is_partial |= record.recorded != Recorded::All;
            }
            HostEvent::Allocate(allocation) => {
                let (address, bytes) = (allocation.address, allocation.bytes);
                engine.allocated(allocation.id, address, bytes);
                if host_writes_unseen(&allocation.kind) {
                    engine.host_wrote(address, bytes)?;
                } else {
                    engine.forget(address, bytes)?;
                }
            }
            HostEvent::Free(allocation) => {
                engine.forget(allocation.address, allocation.bytes)?;
                engine.freed(allocation.address, allocation.bytes);
            }
            HostEvent::Copy(copy) => {
                copies_to_host += u32::from(copy.direction == CopyDirection::DeviceToHost);
                if copy.direction == CopyDirection::DeviceToHost
                    && let Some(id) = engine.allocation_of(copy.source, copy.bytes)
                    && is_device(capture, id)
                {
                    engine.copied(copies_to_host, copy.source, copy.bytes)?;
                    let unwritten = UnwrittenCopy {
                        allocation: id,
                        copies: 1,
                        bytes: copy.bytes,
                        copied_bytes: copy.bytes,
                        launches_before: engine.launches(),
                    };
                    walk.copies.push((copies_to_host, unwritten));
                }
                engine.host_wrote(copy.destination, copy.bytes)?;
            }
            HostEvent::Memset(memset) => engine.host_wrote(memset.address, memset.bytes)?,
            HostEvent::OpaqueLaunch(launch) => match &launch.call {
                None => engine.opaque_launch()?,
                Some(call) => {
                    let written = call.writes.iter().flat_map(|block| block.ranges());
                    for (address, bytes) in written {
                        engine.opaque_wrote(address, bytes)?;
                    }
                }
            },
            HostEvent::Gap(gap) => walk.gaps.push(gap),
            HostEvent::LaunchEnd { .. }
            | HostEvent::OpaqueEnd { .. }
            | HostEvent::Transport(_)
            | HostEvent::Note(_) => {}
        }
    }
    Ok(walk)
}

impl Walk<'_> {
    pub(crate) fn into_analysis(
        self,
        capture: &Capture,
        options: Options,
        end: EngineEnd,
    ) -> Analysis {
        let launches = self.launches.into_iter().zip(end.counts);
        let launches = launches.map(|(launch, counts)| LaunchCounts {
            launch: launch.clone(),
            counts,
        });
        let mut copies: BTreeMap<AllocationId, UnwrittenCopy> = BTreeMap::new();
        for (number, copy) in self.copies {
            if !end.written_copies.contains(&number) {
                let sum = copies.entry(copy.allocation).or_insert(UnwrittenCopy {
                    launches_before: copy.launches_before,
                    allocation: copy.allocation,
                    ..UnwrittenCopy::default()
                });
                sum.copies += 1;
                sum.bytes = sum.bytes.max(copy.bytes);
                sum.copied_bytes += copy.bytes;
            }
        }
        let mut analysis = Analysis {
            unwritten_copies: copies.into_values().collect(),
            initialisation_unknown: unseen_writes(capture, options, &self.gaps, self.is_partial),
            ..Analysis::new(capture, launches.collect(), end.communication)
        };
        let unwritten = &mut analysis.communication.unwritten;
        unwritten.retain(|read| is_device(capture, read.allocation));
        if analysis.initialisation_unknown.is_some() {
            analysis.communication.unwritten.clear();
            analysis.unwritten_copies.clear();
        }
        analysis
    }
}

/// Returns whether `id` is device memory. The host can write to other memory without a CUDA call.
fn is_device(capture: &Capture, id: AllocationId) -> bool {
    (capture.allocation(id)).is_some_and(|a| a.kind == AllocationKind::Device)
}

fn analyse_sums(capture: &Capture, options: Options, limit: &MemoryLimit) -> Result<Analysis> {
    if options.matching != Matching::Bytes {
        let what = "loads from and stores to the same address";
        return Err(AnalysisError::NeedsTrace { what });
    }
    let (launches, communication, in_situ) = in_situ::analyse(capture, options, limit)?;
    Ok(Analysis {
        initialisation_unknown: Some("only a trace records individual accesses".to_owned()),
        in_situ: Some(in_situ),
        ..Analysis::new(capture, launches, communication)
    })
}

/// Returns the reason why some of the program's writes are missing from the capture or were not analysed.
fn unseen_writes(
    capture: &Capture,
    options: Options,
    gaps: &[&Gap],
    is_partial: bool,
) -> Option<String> {
    let is_untraced = |gap: &&&Gap| matches!(gap, Gap::UntracedKernel { .. });
    if let Some(untraced) = gaps.iter().find(is_untraced) {
        return Some(untraced.to_string());
    }
    if gaps.contains(&&Gap::SharedMemory) {
        return Some(Gap::SharedMemory.to_string());
    }
    let is_opaque = |module: &ModuleTable| module.opaque_assembly > 0;
    let why = if !options.details || options.matching != Matching::Bytes {
        "bytes were not analysed"
    } else if is_partial {
        "only part of the program was recorded"
    } else if !capture.complete {
        "the capture is incomplete"
    } else if capture.modules.iter().any(is_opaque) {
        "inline PTX was not traced"
    } else if !gaps.is_empty() {
        "the capture is missing some copies"
    } else {
        return None;
    };
    Some(why.to_owned())
}

fn allocations_of(capture: &Capture) -> Vec<AllocationInfo> {
    let allocations = capture.allocations();
    let mut all = vec![AllocationInfo::default(); allocations.len()];
    for allocation in allocations {
        let (index, bytes) = (allocation.id.0 as usize, allocation.bytes);
        let place = allocation.place.as_ref();
        let place = place.map(ToString::to_string).unwrap_or_default();
        let name = match allocation.name() {
            Some(name) => name.to_owned(),
            None if !place.is_empty() => place.clone(),
            None => format!("allocation #{index} of {bytes} bytes"),
        };
        // Allocations are numbered without gaps; a larger number indicates a damaged capture.
        if let Some(info) = all.get_mut(index) {
            *info = AllocationInfo { name, place, bytes };
        }
    }
    all
}

/// Returns whether the host can write to this kind of memory without a CUDA call: variables with initial values, and
/// memory shared with the device or with another process. Values in it that no kernel wrote came from the host.
fn host_writes_unseen(kind: &AllocationKind) -> bool {
    match kind {
        AllocationKind::Managed
        | AllocationKind::Pinned
        | AllocationKind::Imported
        | AllocationKind::Symbol { .. } => true,
        AllocationKind::Device | AllocationKind::Array => false,
    }
}

pub(crate) struct LaunchChunks<'a> {
    pub(crate) capture: &'a Capture,
    pub(crate) chunks: &'a [ChunkRef],
    /// Verifies the accesses of the launch with this number.
    pub(crate) scanner: Option<(&'a Scanner<'a>, u32)>,
}

impl LaunchChunks<'_> {
    fn groups(&self, chunk: usize, sink: &mut dyn FnMut(&AccessGroup) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        let mut buffer = GroupBuffer::default();
        self.capture
            .read_marked_chunk(&self.chunks[chunk], &mut buffer, |group| {
                if outcome.is_ok() {
                    outcome = sink(group);
                }
            })?;
        outcome
    }
}

impl GroupSource for LaunchChunks<'_> {
    fn chunks(&self) -> usize {
        self.chunks.len()
    }

    fn max_thread_accesses(&self) -> u64 {
        let chunks = self.chunks.iter();
        chunks.map(|chunk| chunk.thread_accesses).sum()
    }

    fn read(&self, chunk: usize, sink: &mut dyn FnMut(&AccessGroup) -> Result<()>) -> Result<()> {
        let Some((scanner, launch)) = self.scanner else {
            return self.groups(chunk, sink);
        };
        scanner.chunk(launch, chunk, |scan| {
            self.groups(chunk, &mut |group| {
                if !group.is_grid_barrier() {
                    scan.add(group);
                }
                sink(group)
            })
        })
    }
}
