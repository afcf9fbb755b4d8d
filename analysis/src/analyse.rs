//! A whole capture at once: counts and communication in one pass over the accesses.

use crate::communication::{Communication, Engine, Matching, MemoryLimit, Options};
use crate::counts::{CountTables, GroupSource, LaunchCounts, count};
use crate::error::Result;
use crate::metrics::timeline::{self, TimelineRow};
use crate::metrics::{AllocationInfo, UnwrittenCopy};
use crate::sites::SiteOps;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use superstep_trace::{
    AccessGroup, AllocationId, AllocationKind, Capture, ChunkRef, CopyDirection, Event,
    GroupBuffer, Launch, LaunchId, StreamId,
};

/// What [`analyse`] finds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Counts by launch, by kernel and in all.
    pub counts: CountTables,
    /// Communication by launch, by kernel and in all.
    pub communication: Communication,
    /// When each launch ran.
    pub timeline: Vec<TimelineRow>,
    /// The allocations by their numbers.
    pub allocations: Vec<AllocationInfo>,
    /// Copies to the host of what nothing had written, by allocation.
    pub unwritten_copies: Vec<UnwrittenCopy>,
    /// Why the capture cannot tell what reads memory that nothing has written; `None` where it can.
    pub initialisation_unknown: Option<String>,
}

impl Analysis {
    /// Some writes of the program are not in the capture: nobody can tell what nothing has written.
    pub fn initialisation_is_unknown(&mut self, why: impl Into<String>) {
        self.communication.unwritten.clear();
        self.unwritten_copies.clear();
        self.initialisation_unknown = Some(why.into());
    }

    /// CTAs in x, y and z, by launch.
    pub(crate) fn grids(&self) -> Vec<[u32; 3]> {
        self.counts.launches.iter().map(|l| l.grid).collect()
    }
}

/// Counts and communication of a capture, on all cores of the current rayon pool.
///
/// Launches of all streams are taken in the order of the host's calls. What the capture lacks (it may be incomplete) is
/// missing from the result without an error: look at [`Capture::complete`].
///
/// # Errors
/// [`crate::AnalysisError`] when a chunk is damaged or names an unknown site.
pub fn analyse(capture: &Capture, options: Options) -> Result<Analysis> {
    analyse_within(capture, options, &MemoryLimit::none())
}

/// [`analyse`] with a limit to the memory.
///
/// # Errors
/// Those of [`analyse`]; [`crate::AnalysisError::Spill`].
pub fn analyse_within(
    capture: &Capture,
    options: Options,
    limit: &MemoryLimit,
) -> Result<Analysis> {
    let ops = SiteOps::new(capture.sites());
    let chunks = ChunksByLaunch::new(capture);
    let mut engine = Engine::watched(options, limit, capture.watch.clone());
    let mut launches = Vec::new();
    let mut allocations = FxHashMap::default();
    // The host writes to other memory as it likes, or has ways that are not seen.
    let mut device = FxHashSet::default();
    let mut copies: BTreeMap<AllocationId, UnwrittenCopy> = BTreeMap::new();
    for event in ordered(&capture.events) {
        match event {
            Event::Launch(launch) => {
                let counts = engine.launch(launch, &ops, &chunks.of(launch))?;
                launches.push(LaunchCounts::new(launch, counts));
            }
            Event::Allocate {
                id,
                address,
                bytes,
                kind,
                ..
            } => {
                allocations.insert(*id, (*address, *bytes));
                if *kind == AllocationKind::Device {
                    device.insert(*id);
                }
                engine.allocated(*id, *address, *bytes);
                if host_writes_unseen(kind) {
                    engine.host_wrote(*address, *bytes);
                } else {
                    engine.forget(*address, *bytes);
                }
            }
            Event::Free { id, .. } => {
                if let Some((address, bytes)) = allocations.remove(id) {
                    engine.forget(address, bytes);
                    engine.freed(address, bytes);
                }
            }
            Event::Copy {
                direction,
                destination,
                source,
                bytes,
                ..
            } => {
                if *direction == CopyDirection::DeviceToHost
                    && let Some(id) = engine.allocation_of(*source, *bytes)
                    && device.contains(&id)
                    && engine.nothing_wrote(*source, *bytes)?
                {
                    let launches_before = engine.launches() as u32;
                    let copy = copies.entry(id).or_insert(UnwrittenCopy {
                        allocation: id,
                        launches_before,
                        ..UnwrittenCopy::default()
                    });
                    copy.copies += 1;
                    copy.bytes = copy.bytes.max(*bytes);
                    copy.copied_bytes += bytes;
                }
                engine.host_wrote(*destination, *bytes);
            }
            Event::Memset { address, bytes, .. } => engine.host_wrote(*address, *bytes),
            Event::LaunchEnd { .. } | Event::Selected { .. } | Event::Note(_) => {}
        }
    }
    let mut analysis = Analysis {
        counts: CountTables::new(launches, capture.sites()),
        communication: engine.finish()?,
        timeline: timeline::rows(capture),
        allocations: allocations_of(&capture.events),
        unwritten_copies: copies.into_values().collect(),
        initialisation_unknown: None,
    };
    analysis
        .communication
        .unwritten
        .retain(|read| device.contains(&read.allocation));
    if let Some(why) = unseen_writes(capture, options) {
        analysis.initialisation_is_unknown(why);
    }
    Ok(analysis)
}

/// Why not every write of the program is in the capture, or not looked at.
fn unseen_writes(capture: &Capture, options: Options) -> Option<&'static str> {
    let is_partial = |event: &Event| matches!(event, Event::Selected { .. });
    // The runtimes say so about copies of which they do not know what they write.
    let is_hidden =
        |event: &Event| matches!(event, Event::Note(text) if text.contains("not among the copies"));
    if !options.details || options.matching != Matching::Bytes {
        Some("bytes were not looked at")
    } else if capture.header.selection.is_some() || capture.events.iter().any(is_partial) {
        Some("only a part of the program was recorded")
    } else if !capture.complete {
        Some("the capture is incomplete")
    } else if capture
        .modules
        .iter()
        .any(|module| module.opaque_assembly > 0)
    {
        Some("inline PTX was let through untraced")
    } else if capture.events.iter().any(is_hidden) {
        Some("the capture does not hold all copies")
    } else {
        None
    }
}

/// What the capture says about each allocation, by its number.
fn allocations_of(events: &[Event]) -> Vec<AllocationInfo> {
    let mut all = Vec::new();
    for event in events {
        let Event::Allocate {
            id,
            bytes,
            kind,
            place,
            ..
        } = event
        else {
            continue;
        };
        let index = id.0 as usize;
        // A number beyond what there are events is damage.
        if index >= events.len() {
            continue;
        }
        if all.len() <= index {
            all.resize_with(index + 1, AllocationInfo::default);
        }
        let place = place.as_ref().map(ToString::to_string).unwrap_or_default();
        let name = match kind {
            AllocationKind::Symbol { name } => name.clone(),
            _ if !place.is_empty() => place.clone(),
            _ => format!("allocation #{index} of {bytes} bytes"),
        };
        all[index] = AllocationInfo {
            name,
            place,
            bytes: *bytes,
        };
    }
    all
}

/// The counts alone: streaming, one chunk of each core in memory.
///
/// # Errors
/// Those of [`analyse`].
pub fn count_capture(capture: &Capture) -> Result<CountTables> {
    let ops = SiteOps::new(capture.sites());
    let chunks = ChunksByLaunch::new(capture);
    let launches: Vec<LaunchCounts> = ordered(&capture.events)
        .into_iter()
        .filter_map(|event| match event {
            Event::Launch(launch) => Some(launch),
            _ => None,
        })
        .map(|launch| Ok(LaunchCounts::new(launch, count(&chunks.of(launch), &ops)?)))
        .collect::<Result<_>>()?;
    Ok(CountTables::new(launches, capture.sites()))
}

/// Memory that the host may write without any call that is seen: initial values of variables, and memory that it shares
/// with the device. Whatever kernels find there and did not write themselves came from the host.
fn host_writes_unseen(kind: &AllocationKind) -> bool {
    match kind {
        AllocationKind::Managed | AllocationKind::Pinned | AllocationKind::Symbol { .. } => true,
        AllocationKind::Device | AllocationKind::Array => false,
    }
}

/// The numbered events by their numbers.
fn ordered(events: &[Event]) -> Vec<&Event> {
    let mut numbered: Vec<&Event> = events
        .iter()
        .filter(|event| event.sequence().is_some())
        .collect();
    numbered.sort_by_key(|event| event.sequence());
    numbered
}

/// Finds the chunks of a launch.
struct ChunksByLaunch<'a> {
    capture: &'a Capture,
    chunks: FxHashMap<(StreamId, LaunchId), Vec<ChunkRef>>,
}

impl<'a> ChunksByLaunch<'a> {
    fn new(capture: &'a Capture) -> Self {
        let mut chunks: FxHashMap<_, Vec<ChunkRef>> = FxHashMap::default();
        for chunk in capture.streams().flat_map(|stream| capture.chunks(stream)) {
            chunks
                .entry((chunk.stream, chunk.launch))
                .or_default()
                .push(*chunk);
        }
        Self { capture, chunks }
    }

    fn of(&self, launch: &Launch) -> LaunchChunks<'_> {
        LaunchChunks {
            capture: self.capture,
            chunks: self
                .chunks
                .get(&(launch.stream, launch.launch))
                .map_or(&[], Vec::as_slice),
        }
    }
}

/// The chunks of one launch.
struct LaunchChunks<'a> {
    capture: &'a Capture,
    chunks: &'a [ChunkRef],
}

impl GroupSource for LaunchChunks<'_> {
    fn chunks(&self) -> usize {
        self.chunks.len()
    }

    fn read(&self, chunk: usize, sink: &mut dyn FnMut(&AccessGroup) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        let mut buffer = GroupBuffer::default();
        self.capture
            .read_chunk(&self.chunks[chunk], &mut buffer, |group| {
                if outcome.is_ok() {
                    outcome = sink(group);
                }
            })?;
        outcome
    }
}
