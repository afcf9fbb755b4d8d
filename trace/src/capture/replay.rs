//! Replays a capture in host order: every event once, and each launch with everything recorded about it.

use super::{Capture, ChunkRef};
use crate::program::allocations::{Allocation, AllocationKey, AllocationMap};
use crate::program::event::TimedEvent;
use crate::{
    AllocationId, AllocationKind, Event, FirstRead, Gap, HostCopy, HostMemset, Launch, LaunchEnd,
    LaunchId, LaunchSums, OpaqueEnd, OpaqueLaunch, Parts, Received, Recorded, StreamId, Transport,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub enum HostEvent<'a> {
    Launch(LaunchRecord<'a>),
    LaunchEnd {
        launch: &'a Launch,
        end: &'a LaunchEnd,
    },
    Allocate(&'a Allocation),
    Free(&'a Allocation),
    Copy(&'a HostCopy),
    Memset(&'a HostMemset),
    OpaqueLaunch(&'a OpaqueLaunch),
    OpaqueEnd {
        launch: &'a OpaqueLaunch,
        end: &'a OpaqueEnd,
    },
    Gap(&'a Gap),
    Transport(&'a Transport),
    Note(&'a str),
}

#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRecord<'a> {
    /// Index among all launches of the program, in host order.
    pub number: u32,
    pub launch: &'a Launch,
    /// The accesses that were selected for recording.
    pub recorded: Recorded,
    pub end: Option<&'a LaunchEnd>,
    pub chunks: &'a [ChunkRef],
    /// Sums of its accesses, if they were aggregated in situ; in that case, `chunks` is empty.
    pub sums: Option<&'a LaunchSums>,
    /// Data that its CTAs received from others, in parts; empty if there are no `sums`.
    pub received: &'a [Received],
    /// First reads of other launches' stores by its loads, in parts; empty if there are no `sums`.
    pub first_read: &'a [FirstRead],
    pub allocations: Arc<AllocationMap<'a>>,
}

impl LaunchRecord<'_> {
    /// Returns the number of accesses that were recorded or aggregated, counting each lane.
    pub fn thread_accesses(&self) -> u64 {
        recorded_accesses(self.sums, self.chunks)
    }
}

pub(super) fn recorded_accesses(sums: Option<&LaunchSums>, chunks: &[ChunkRef]) -> u64 {
    match sums {
        Some(sums) => sums.thread_accesses(),
        None => chunks.iter().map(|chunk| chunk.thread_accesses).sum(),
    }
}

impl Capture {
    /// Returns all events in host order. Events without a sequence number (a launch's end, a note) follow the numbered
    /// ones that precede them in the file.
    pub fn replay(&self) -> impl Iterator<Item = TimedEvent<HostEvent<'_>>> {
        let mut allocations = Arc::default();
        let entries = self.timeline.entries.iter();
        entries.map(move |&TimedEvent { at_ns, ref event }| TimedEvent {
            at_ns,
            event: self.timeline.event(event, &mut allocations),
        })
    }

    pub fn launches(&self) -> impl Iterator<Item = LaunchRecord<'_>> {
        self.replay().filter_map(|event| match event.event {
            HostEvent::Launch(record) => Some(record),
            _ => None,
        })
    }

    /// Returns whether accesses were aggregated in situ, so that none were recorded.
    pub fn is_in_situ(&self) -> bool {
        self.timeline.launches.iter().any(|it| it.sums.is_some())
    }

    /// Returns every allocation in order of creation.
    pub fn allocations(&self) -> &[Allocation] {
        &self.timeline.allocations
    }

    pub fn allocation(&self, id: AllocationId) -> Option<&Allocation> {
        let index = self.timeline.by_id.get(&id)?;
        Some(&self.timeline.allocations[*index])
    }
}

#[derive(Debug, Default)]
pub(super) struct Timeline {
    entries: Vec<TimedEvent<Entry>>,
    pub(super) launches: Vec<StoredLaunch>,
    pub(super) allocations: Vec<Allocation>,
    numbers: FxHashMap<(StreamId, LaunchId), u32>,
    /// By sequence number.
    opaque: FxHashMap<u64, OpaqueLaunch>,
    /// Number of allocations that are not symbols.
    heap: u32,
    by_id: FxHashMap<AllocationId, usize>,
}

#[derive(Debug, Default)]
pub(super) struct StoredLaunch {
    pub(super) launch: Launch,
    recorded: Recorded,
    pub(super) end: Option<LaunchEnd>,
    pub(super) chunks: Vec<ChunkRef>,
    pub(super) sums: Option<LaunchSums>,
    parts: Parts,
}

/// An event that refers to launches, allocations and opaque launches by their indices in the [`Timeline`].
#[derive(Debug)]
enum Entry {
    Launch(u32),
    LaunchEnd(u32),
    Allocate(usize),
    Free(usize),
    Copy(HostCopy),
    Memset(HostMemset),
    OpaqueLaunch(u64),
    OpaqueEnd(OpaqueEnd),
    Gap(Gap),
    Transport(Transport),
    Note(String),
}

/// A contradiction between the events of a capture.
#[derive(Debug, thiserror::Error)]
enum Contradiction {
    #[error("launch {to} of {known} cannot receive anything from launch {from}")]
    Received { from: u32, to: u32, known: u32 },
    #[error("an event refers to launch {1} of stream {0}, which no event announces")]
    NoLaunch(StreamId, LaunchId),
    #[error("launch {1} of stream {0} {2} twice")]
    LaunchTwice(StreamId, LaunchId, &'static str),
    #[error("allocation {0} is freed, but no event announces it")]
    NoAllocation(AllocationId),
    #[error("allocation {0} {1} twice")]
    AllocationTwice(AllocationId, &'static str),
    #[error("opaque launch {0} ends, but no event announces it")]
    NoOpaqueLaunch(u64),
    #[error("opaque launch {0} is announced twice")]
    OpaqueLaunchTwice(u64),
}

impl Timeline {
    /// Sorts events from file order into host order. An event that refers to an unknown launch or allocation is dropped
    /// and reported in `problems`.
    pub(super) fn new(
        events: Vec<TimedEvent<Event>>,
        parts: Vec<Parts>,
        problems: &mut Vec<String>,
    ) -> Self {
        let mut latest = 0;
        let mut ordered: Vec<_> = (events.into_iter())
            .map(|timed| {
                let sequence = timed.event.sequence();
                latest = sequence.unwrap_or(0).max(latest);
                (sequence.unwrap_or(latest), timed)
            })
            .collect();
        ordered.sort_by_key(|(sequence, ..)| *sequence);
        let mut timeline = Timeline::default();
        for (_, TimedEvent { at_ns, event }) in ordered {
            match timeline.entry(event) {
                Ok(Some(event)) => timeline.entries.push(TimedEvent { at_ns, event }),
                Ok(None) => {}
                Err(problem) => problems.push(problem.to_string()),
            }
        }
        for parts in parts {
            let problem = timeline.add_parts(parts).err();
            problems.extend(problem.map(|problem| problem.to_string()));
        }
        timeline
    }

    pub(super) fn launch_mut(
        &mut self,
        stream: StreamId,
        launch: LaunchId,
    ) -> Option<&mut StoredLaunch> {
        let number = *self.numbers.get(&(stream, launch))?;
        self.launches.get_mut(number as usize)
    }

    /// Returns the event of an entry. `allocations` are those that are live before the event.
    fn event<'a>(
        &'a self,
        entry: &'a Entry,
        allocations: &mut Arc<AllocationMap<'a>>,
    ) -> HostEvent<'a> {
        match entry {
            Entry::Launch(number) => {
                let stored = &self.launches[*number as usize];
                HostEvent::Launch(LaunchRecord {
                    number: *number,
                    launch: &stored.launch,
                    recorded: stored.recorded,
                    end: stored.end.as_ref(),
                    chunks: &stored.chunks,
                    sums: stored.sums.as_ref(),
                    received: &stored.parts.received,
                    first_read: &stored.parts.first_read,
                    allocations: Arc::clone(allocations),
                })
            }
            Entry::LaunchEnd(number) => {
                let stored = &self.launches[*number as usize];
                let end = stored.end.as_ref().expect("the entry implies an end");
                let launch = &stored.launch;
                HostEvent::LaunchEnd { launch, end }
            }
            Entry::Allocate(index) => {
                let allocation = &self.allocations[*index];
                Arc::make_mut(allocations).insert(allocation);
                HostEvent::Allocate(allocation)
            }
            Entry::Free(index) => {
                let allocation = &self.allocations[*index];
                Arc::make_mut(allocations).remove(allocation);
                HostEvent::Free(allocation)
            }
            Entry::Copy(copy) => HostEvent::Copy(copy),
            Entry::Memset(memset) => HostEvent::Memset(memset),
            Entry::OpaqueLaunch(number) => HostEvent::OpaqueLaunch(&self.opaque[number]),
            Entry::OpaqueEnd(end) => {
                let launch = &self.opaque[&end.launch];
                HostEvent::OpaqueEnd { launch, end }
            }
            Entry::Gap(gap) => HostEvent::Gap(gap),
            Entry::Transport(transport) => HostEvent::Transport(transport),
            Entry::Note(text) => HostEvent::Note(text),
        }
    }

    fn add_parts(&mut self, parts: Parts) -> Result<(), Contradiction> {
        let known = self.launches.len() as u32;
        let check = |from: u32, to: u32| match from < to && to < known {
            true => Ok(to as usize),
            false => Err(Contradiction::Received { from, to, known }),
        };
        for part in parts.received {
            let receiver = check(part.source_launch, part.receiver_launch)?;
            self.launches[receiver].parts.received.push(part);
        }
        for part in parts.first_read {
            let receiver = check(part.source_launch, part.receiver_launch)?;
            self.launches[receiver].parts.first_read.push(part);
        }
        Ok(())
    }

    /// Returns the entry of an event, if it has one. Fails if the event contradicts earlier ones.
    fn entry(&mut self, event: Event) -> Result<Option<Entry>, Contradiction> {
        let number_of = |stream, launch| {
            let number = self.numbers.get(&(stream, launch)).copied();
            number.ok_or(Contradiction::NoLaunch(stream, launch))
        };
        let twice = |stream, launch, what| Err(Contradiction::LaunchTwice(stream, launch, what));
        Ok(Some(match event {
            Event::Launch(launch) => {
                let (stream, id) = (launch.stream, launch.launch);
                let number = self.launches.len() as u32;
                if self.numbers.contains_key(&(stream, id)) {
                    return twice(stream, id, "is announced");
                }
                self.numbers.insert((stream, id), number);
                self.launches.push(StoredLaunch {
                    launch,
                    ..StoredLaunch::default()
                });
                Entry::Launch(number)
            }
            Event::LaunchEnd(end) => {
                let number = number_of(end.stream, end.launch)?;
                let stored = &mut self.launches[number as usize];
                if stored.end.is_some() {
                    return twice(end.stream, end.launch, "ends");
                }
                stored.end = Some(end);
                Entry::LaunchEnd(number)
            }
            Event::Selected {
                stream,
                launch,
                recorded,
            } => {
                let number = number_of(stream, launch)?;
                self.launches[number as usize].recorded = recorded;
                return Ok(None);
            }
            Event::Allocate(mut allocation) => {
                let (id, index) = (allocation.id, self.allocations.len());
                if self.by_id.contains_key(&id) {
                    return Err(Contradiction::AllocationTwice(id, "is announced"));
                }
                self.by_id.insert(id, index);
                allocation.key = match &allocation.kind {
                    AllocationKind::Symbol { name } => AllocationKey::Symbol(name.clone()),
                    _ => {
                        self.heap += 1;
                        AllocationKey::Heap(self.heap - 1)
                    }
                };
                self.allocations.push(allocation);
                Entry::Allocate(index)
            }
            Event::Free { sequence, id } => {
                let index = *self.by_id.get(&id).ok_or(Contradiction::NoAllocation(id))?;
                let freed = &mut self.allocations[index].freed;
                if freed.is_some() {
                    return Err(Contradiction::AllocationTwice(id, "is freed"));
                }
                *freed = Some(sequence);
                Entry::Free(index)
            }
            Event::Copy(copy) => Entry::Copy(copy),
            Event::Memset(memset) => Entry::Memset(memset),
            Event::OpaqueLaunch(launch) => {
                let number = launch.sequence;
                if self.opaque.contains_key(&number) {
                    return Err(Contradiction::OpaqueLaunchTwice(number));
                }
                self.opaque.insert(number, launch);
                Entry::OpaqueLaunch(number)
            }
            Event::OpaqueEnd(end) => {
                if !self.opaque.contains_key(&end.launch) {
                    return Err(Contradiction::NoOpaqueLaunch(end.launch));
                }
                Entry::OpaqueEnd(end)
            }
            Event::Sums(sums) => {
                let number = number_of(sums.stream, sums.launch)?;
                let stored = &mut self.launches[number as usize];
                if stored.sums.is_some() {
                    return twice(sums.stream, sums.launch, "is aggregated");
                }
                stored.sums = Some(sums);
                return Ok(None);
            }
            Event::Gap(gap) => Entry::Gap(gap),
            Event::Transport(transport) => Entry::Transport(transport),
            Event::Note(text) => Entry::Note(text),
        }))
    }
}
