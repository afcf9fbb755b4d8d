//! Maps addresses, which differ between runs, to allocations and offsets, which do not.

use crate::{AllocationId, AllocationKind, SourcePlace};
use serde::{Deserialize, Serialize};

/// Symbol for the device-side `malloc` heap. Offsets in it differ between runs, so digests ignore them.
pub const DEVICE_HEAP: &str = "device malloc heap";

/// Size of the pages in which a GPU maps device memory. Memory is mapped up to the end of an allocation's last page.
pub const DEVICE_PAGE_BYTES: u64 = 2 << 20;

/// Identity of an allocation, which is the same in every run and on every backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AllocationKey {
    /// Ordinal among the program's allocations that are not symbols, counted from 0.
    Heap(u32),
    /// A `__device__` or `__constant__` variable, by name.
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

impl Default for AllocationKey {
    fn default() -> Self {
        AllocationKey::Heap(0)
    }
}

/// A range of memory from allocation to free. Fields that are not stored are set when a capture is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Sequence number of the allocation among the host's events.
    pub sequence: u64,
    pub id: AllocationId,
    pub address: u64,
    pub bytes: u64,
    pub kind: AllocationKind,
    /// The host call that allocated it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SourcePlace>,
    /// Ordinal of the device that was current when it was allocated; `Managed` memory may be elsewhere.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub device: u32,
    #[serde(skip)]
    pub key: AllocationKey,
    /// The variable that points to it, if known.
    #[serde(skip)]
    pub variable: Option<String>,
    #[serde(skip)]
    pub freed: Option<u64>,
}

impl Allocation {
    /// Returns the name of its symbol or variable, if known.
    pub fn name(&self) -> Option<&str> {
        match &self.kind {
            AllocationKind::Symbol { name } => Some(name),
            _ => self.variable.as_deref(),
        }
    }

    #[inline]
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.address);
        (offset < self.bytes).then_some(offset)
    }

    fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }
}

/// The live allocations at one point in the program, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocationMap<'a> {
    /// Sorted by address; disjoint.
    live: Vec<&'a Allocation>,
}

impl<'a> AllocationMap<'a> {
    pub fn iter(&self) -> impl Iterator<Item = &'a Allocation> {
        self.live.iter().copied()
    }

    pub fn find(&self, address: u64) -> Option<&'a Allocation> {
        (self.last_before(address)).filter(|last| last.offset_of(address).is_some())
    }

    /// Returns the last allocation that starts at or before `address`.
    fn last_before(&self, address: u64) -> Option<&'a Allocation> {
        let after = (self.live).partition_point(|allocation| allocation.address <= address);
        self.live[..after].last().copied()
    }

    /// Returns whether `address` is past the end of a device allocation, but in its last page, which a GPU can access.
    pub fn is_in_last_page(&self, address: u64) -> bool {
        self.last_before(address).is_some_and(|last| {
            let mapped_bytes = last.bytes.checked_next_multiple_of(DEVICE_PAGE_BYTES);
            let offset = address - last.address;
            last.kind == AllocationKind::Device
                && mapped_bytes.is_some_and(|end| (last.bytes..end).contains(&offset))
        })
    }

    /// Returns a resolver that remembers its last hit, which is faster for consecutive accesses to one allocation.
    pub fn resolver(&self) -> Resolver<'_> {
        Resolver {
            map: self,
            last: None,
        }
    }

    /// Adds an allocation, and removes any that it overlaps: those must have been freed without an event.
    pub(crate) fn insert(&mut self, new: &'a Allocation) {
        if new.bytes > 0 {
            let from = self.live.partition_point(|old| old.end() <= new.address);
            let to = self.live.partition_point(|old| old.address < new.end());
            self.live.splice(from..to.max(from), [new]);
        }
    }

    pub(crate) fn remove(&mut self, gone: &Allocation) {
        let at = (self.live).binary_search_by_key(&gone.address, |allocation| allocation.address);
        if let Ok(at) = at
            && self.live[at].id == gone.id
        {
            self.live.remove(at);
        }
    }
}

/// Looks up addresses in an [`AllocationMap`], trying the last hit first.
pub struct Resolver<'a> {
    map: &'a AllocationMap<'a>,
    last: Option<&'a Allocation>,
}

impl<'a> Resolver<'a> {
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
}
