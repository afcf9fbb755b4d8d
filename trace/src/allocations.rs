//! From addresses, which differ from run to run, to allocations and offsets, which do not.

use crate::{AllocationId, AllocationKind, Capture, Event, Launch};
use std::collections::HashMap;

/// Symbol under which the heap of device-side `malloc` is recorded. Where a block lies in it is the device's affair, and another place in
/// another run: digests leave offsets in it out.
pub const DEVICE_HEAP: &str = "device malloc heap";

/// Name of an allocation that is the same in every run and on every backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AllocationKey {
    /// Ordinal among the allocations of the program that are not symbols, from 0.
    Heap(u32),
    /// A `__device__` or `__constant__` variable by its name.
    Symbol(String),
}

impl std::fmt::Display for AllocationKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AllocationKey::Heap(ordinal) => write!(f, "#{ordinal}"),
            AllocationKey::Symbol(name) => f.write_str(name),
        }
    }
}

/// A range of memory while it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Ordinal of the event.
    pub id: AllocationId,
    pub key: AllocationKey,
    pub address: u64,
    pub bytes: u64,
    pub kind: AllocationKind,
}

impl Allocation {
    /// Offset of `address` in the allocation, when it lies inside.
    #[inline]
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.address);
        (offset < self.bytes).then_some(offset)
    }
}

/// The allocations alive at one point of the program, by address.
#[derive(Clone, Debug, Default)]
pub struct AllocationMap {
    /// Ascending by address, disjoint.
    live: Vec<Allocation>,
}

impl AllocationMap {
    /// The allocations alive when `launch` was made.
    pub fn at(capture: &Capture, launch: &Launch) -> Self {
        Self::from_events(&capture.events, launch.sequence)
    }

    /// The allocations alive after all of `events` with a sequence number below `sequence`.
    pub fn from_events(events: &[Event], sequence: u64) -> Self {
        let mut timeline = AllocationTimeline::new(events);
        timeline.advance(sequence);
        timeline.map()
    }

    /// The live allocations, by ascending address.
    pub fn iter(&self) -> impl Iterator<Item = &Allocation> {
        self.live.iter()
    }

    /// The allocation that holds `address`.
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        let after = self
            .live
            .partition_point(|allocation| allocation.address <= address);
        self.live[..after]
            .last()
            .filter(|allocation| allocation.offset_of(address).is_some())
    }

    /// Allocation and offset of `address`; `None` when it belongs to none.
    pub fn resolve(&self, address: u64) -> Option<(&AllocationKey, u64)> {
        let allocation = self.find(address)?;
        Some((&allocation.key, address - allocation.address))
    }

    /// A resolver that remembers its last hit: faster when neighbouring accesses are to the same allocation.
    pub fn resolver(&self) -> Resolver<'_> {
        Resolver {
            map: self,
            last: None,
        }
    }
}

/// Looks addresses up in an [`AllocationMap`] and tries the last hit first.
pub struct Resolver<'a> {
    map: &'a AllocationMap,
    last: Option<&'a Allocation>,
}

impl<'a> Resolver<'a> {
    /// The allocation that holds `address`.
    #[inline]
    pub fn find(&mut self, address: u64) -> Option<&'a Allocation> {
        match self.last {
            Some(last) if last.offset_of(address).is_some() => Some(last),
            _ => {
                let found = self.map.find(address)?;
                self.last = Some(found);
                Some(found)
            }
        }
    }

    /// Allocation and offset of `address`; `None` when it belongs to none.
    #[inline]
    pub fn resolve(&mut self, address: u64) -> Option<(&'a AllocationKey, u64)> {
        let allocation = self.find(address)?;
        Some((&allocation.key, address - allocation.address))
    }
}

/// Walks through a capture's allocations and frees in sequence order; cheaper than [`AllocationMap::at`] for many launches.
pub struct AllocationTimeline {
    /// Allocations and frees by sequence.
    changes: std::vec::IntoIter<(u64, Change)>,
    pending: Option<(u64, Change)>,
    live: std::collections::BTreeMap<u64, Allocation>,
    address_of: HashMap<AllocationId, u64>,
}

enum Change {
    Allocate(Allocation),
    Free(AllocationId),
}

impl AllocationTimeline {
    /// The timeline of `events`, before the first of them.
    pub fn new(events: &[Event]) -> Self {
        let mut changes: Vec<_> = events.iter().filter_map(change).collect();
        changes.sort_by_key(|(sequence, _)| *sequence);
        let mut heap = 0;
        for (_, change) in &mut changes {
            if let Change::Allocate(Allocation {
                key: AllocationKey::Heap(ordinal),
                ..
            }) = change
            {
                *ordinal = heap;
                heap += 1;
            }
        }
        let mut changes = changes.into_iter();
        let pending = changes.next();
        AllocationTimeline {
            changes,
            pending,
            live: Default::default(),
            address_of: HashMap::new(),
        }
    }

    /// Takes in everything with a sequence number below `sequence`; returns whether that changed anything.
    pub fn advance(&mut self, sequence: u64) -> bool {
        let mut changed = false;
        while let Some((_, change)) = self.pending.take_if(|(at, _)| *at < sequence) {
            self.pending = self.changes.next();
            self.apply(change);
            changed = true;
        }
        changed
    }

    pub fn map(&self) -> AllocationMap {
        AllocationMap {
            live: self.live.values().cloned().collect(),
        }
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Allocate(allocation) if allocation.bytes == 0 => {}
            Change::Allocate(allocation) => {
                self.remove_overlaps(&allocation);
                self.address_of.insert(allocation.id, allocation.address);
                self.live.insert(allocation.address, allocation);
            }
            Change::Free(id) => {
                if let Some(address) = self.address_of.remove(&id)
                    && self
                        .live
                        .get(&address)
                        .is_some_and(|allocation| allocation.id == id)
                {
                    self.live.remove(&address);
                }
            }
        }
    }

    /// Memory that is given out again was free: its free was not seen.
    fn remove_overlaps(&mut self, new: &Allocation) {
        let end = new.address.saturating_add(new.bytes);
        while let Some((&address, old)) = self.live.range(..end).next_back() {
            if address != new.address && old.address.saturating_add(old.bytes) <= new.address {
                break;
            }
            self.live.remove(&address);
        }
    }
}

fn change(event: &Event) -> Option<(u64, Change)> {
    match event {
        Event::Allocate {
            sequence,
            id,
            address,
            bytes,
            kind,
            ..
        } => {
            let key = match kind {
                AllocationKind::Symbol { name } => AllocationKey::Symbol(name.clone()),
                _ => AllocationKey::Heap(0),
            };
            let allocation = Allocation {
                id: *id,
                key,
                address: *address,
                bytes: *bytes,
                kind: kind.clone(),
            };
            Some((*sequence, Change::Allocate(allocation)))
        }
        Event::Free { sequence, id } => Some((*sequence, Change::Free(*id))),
        _ => None,
    }
}
