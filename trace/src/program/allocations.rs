//! From addresses, which differ from run to run, to allocations and offsets, which do not.

use crate::{AllocationId, AllocationKind, SourcePlace};

/// Symbol under which the heap of device-side `malloc` is recorded. Offsets in it differ from run to run, so digests
/// leave them out.
pub const DEVICE_HEAP: &str = "device malloc heap";

/// A GPU maps device memory in pages of this size: behind an allocation there is memory up to the end of its last page.
pub const DEVICE_PAGE_BYTES: u64 = 2 << 20;

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
    pub id: AllocationId,
    pub key: AllocationKey,
    pub address: u64,
    pub bytes: u64,
    pub kind: AllocationKind,
    /// The host's call that made it, where it is known.
    pub place: Option<SourcePlace>,
    /// Number of the device that was current.
    pub device: u32,
    /// When it came to life, as position among the host's numbered events.
    pub sequence: u64,
    pub freed: Option<u64>,
}

impl Allocation {
    #[inline]
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.address);
        (offset < self.bytes).then_some(offset)
    }

    fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }

    /// Whether `address` is behind the allocation, in memory that a GPU maps nevertheless.
    fn has_behind(&self, address: u64) -> bool {
        let pages = self.bytes.checked_next_multiple_of(DEVICE_PAGE_BYTES);
        self.kind == AllocationKind::Device
            && pages.is_some_and(|bytes| {
                (self.bytes..bytes).contains(&address.wrapping_sub(self.address))
            })
    }
}

/// The allocations alive at one point of the program, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocationMap<'a> {
    /// Ascending by address, disjoint.
    live: Vec<&'a Allocation>,
}

impl<'a> AllocationMap<'a> {
    pub fn iter(&self) -> impl Iterator<Item = &'a Allocation> {
        self.live.iter().copied()
    }

    pub fn find(&self, address: u64) -> Option<&'a Allocation> {
        let after = (self.live).partition_point(|allocation| allocation.address <= address);
        let last = self.live[..after].last()?;
        last.offset_of(address).map(|_| *last)
    }

    /// Whether `address` is in the last page of a device allocation, behind its end, where a GPU allows an access.
    pub fn is_behind(&self, address: u64) -> bool {
        let after = (self.live).partition_point(|allocation| allocation.address <= address);
        (self.live[..after].last()).is_some_and(|last| last.has_behind(address))
    }

    pub fn resolve(&self, address: u64) -> Option<(&'a AllocationKey, u64)> {
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

    /// Adds an allocation. Allocations that it overlaps were freed unseen.
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

/// Looks addresses up in an [`AllocationMap`] and tries the last hit first.
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

    /// Allocation and offset of `address`; `None` when it belongs to none.
    #[inline]
    pub fn resolve(&mut self, address: u64) -> Option<(&'a AllocationKey, u64)> {
        let allocation = self.find(address)?;
        Some((&allocation.key, address - allocation.address))
    }
}
