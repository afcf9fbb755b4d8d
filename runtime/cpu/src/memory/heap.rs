//! Device memory: each allocation ends at a guard page, and freed ranges remain inaccessible for a while, so that
//! accesses outside allocations fault immediately. A GPU's larger pages extend past the end of an allocation; that
//! extra memory is made accessible on first access.

use crate::device::devices;
use crate::mapping::{Mapping, PAGE_BYTES};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::c_int;
use superstep_trace::{AllocationKind, DEVICE_PAGE_BYTES};

/// Alignment of an allocation, and the granularity of its distance to the guard page.
pub const ALIGNMENT_BYTES: usize = 256;
/// Inaccessible address space before and after an allocation.
const GUARD_BYTES: usize = 16 * PAGE_BYTES;
/// Limits on the freed ranges that remain inaccessible: their number, and their address space in bytes.
const QUARANTINE_COUNT: usize = 2048;
const QUARANTINE_BYTES: usize = 1 << 38;

#[derive(Debug)]
pub struct Block {
    pub address: u64,
    /// Requested size.
    pub bytes: u64,
    pub kind: AllocationKind,
    /// The device that was current when the block was allocated; 0 for memory that the program owns.
    pub device: c_int,
    /// Whether kernels access the block as global memory; false for `__constant__` variables.
    pub is_global: bool,
    /// The block's memory; `None` if the program owns it.
    mapping: Option<Mapping>,
}

impl Block {
    pub fn end(&self) -> u64 {
        self.address + self.bytes
    }

    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.bytes
    }

    /// Returns whether copies treat the block as host memory.
    pub fn is_host(&self) -> bool {
        self.kind == AllocationKind::Pinned
    }

    /// Returns whether the program owns the memory and registered it (`cudaHostRegister`).
    pub fn is_registered(&self) -> bool {
        self.mapping.is_none() && self.is_host()
    }

    /// Returns the pages past the end of the block that are accessible on a GPU, as (first byte, one past the last).
    fn tail(&self) -> Option<(u64, u64)> {
        let pages = self.bytes.checked_next_multiple_of(DEVICE_PAGE_BYTES)?;
        let end = self.end().next_multiple_of(PAGE_BYTES as u64);
        let last = (self.address + pages) / PAGE_BYTES as u64 * PAGE_BYTES as u64;
        (self.kind == AllocationKind::Device && end < last).then_some((end, last))
    }
}

/// The block nearest to an address.
#[derive(Debug)]
pub struct Location<'a> {
    pub block: &'a Block,
    pub relation: Relation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Inside,
    Freed,
    /// Bytes after the end of a block (0: the first byte after it).
    After(u64),
    /// Bytes before a block (1: the byte right before it).
    Before(u64),
}

#[derive(Debug, Default)]
pub struct Heap {
    live: BTreeMap<u64, Block>,
    freed: VecDeque<Block>,
    freed_bytes: usize,
    pub live_bytes: u64,
}

impl Heap {
    /// Allocates `bytes` zeroed bytes (at least 1); returns `None` if memory is exhausted.
    pub fn allocate(&mut self, bytes: u64, kind: AllocationKind) -> Option<u64> {
        let used = usize::try_from(bytes).ok()?;
        let used = used.checked_next_multiple_of(ALIGNMENT_BYTES)?;
        let pages = used.checked_next_multiple_of(PAGE_BYTES)?;
        let tail = match kind {
            AllocationKind::Device => usize::try_from(DEVICE_PAGE_BYTES).ok()?,
            _ => 0,
        };
        let mapping = Mapping::reserve(pages.checked_add(2 * GUARD_BYTES + tail)?).ok()?;
        mapping.open(GUARD_BYTES, pages).ok()?;
        let address = mapping.base() as u64 + (GUARD_BYTES + pages - used) as u64;
        self.live_bytes += bytes;
        let block = Block {
            address,
            bytes,
            kind,
            device: devices::current(),
            is_global: true,
            mapping: Some(mapping),
        };
        self.live.insert(address, block);
        Some(address)
    }

    /// Makes accessible the memory that a GPU maps past the end of the block preceding `address`. Returns `false` if
    /// `address` is not in that memory.
    pub fn open_tail(&self, address: u64) -> bool {
        let Some((_, block)) = self.live.range(..=address).next_back() else {
            return false;
        };
        let (Some(mapping), Some((first, end))) = (&block.mapping, block.tail()) else {
            return false;
        };
        let (offset, bytes) = (first - mapping.base() as u64, end - first);
        (first..end).contains(&address) && mapping.open(offset as usize, bytes as usize).is_ok()
    }

    /// Returns whether `address` is in the memory that a GPU maps past the end of a block.
    pub fn is_in_tail(&self, address: u64) -> bool {
        let block = self.live.range(..=address).next_back();
        block.is_some_and(|(_, block)| {
            let last = block.tail().map_or(0, |(_, last)| last);
            (block.end()..last).contains(&address)
        })
    }

    /// Adds memory that the program owns; returns `false` if it overlaps a block.
    pub fn register(
        &mut self,
        address: u64,
        bytes: u64,
        kind: AllocationKind,
        is_global: bool,
    ) -> bool {
        let Some(end) = address.checked_add(bytes) else {
            return false;
        };
        let overlaps = |(_, block): (&u64, &Block)| block.end() > address;
        let nearest = self.live.range(..end).next_back();
        if bytes == 0 || nearest.is_some_and(overlaps) {
            return false;
        }
        let block = Block {
            address,
            bytes,
            kind,
            device: 0,
            is_global,
            mapping: None,
        };
        self.live.insert(address, block);
        true
    }

    pub fn block_at(&self, address: u64) -> Option<&Block> {
        self.live.get(&address)
    }

    pub fn find(&self, address: u64) -> Option<&Block> {
        let (_, block) = self.live.range(..=address).next_back()?;
        Some(block).filter(|block| block.contains(address))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.live.values()
    }

    /// Frees the block at `address`; returns `false` if there is none.
    pub fn free(&mut self, address: u64) -> bool {
        let Some(block) = self.live.remove(&address) else {
            return false;
        };
        if let Some(mapping) = &block.mapping {
            self.live_bytes -= block.bytes;
            if mapping.close().is_ok() {
                self.freed_bytes += mapping.bytes();
                self.freed.push_back(block);
            }
        }
        while self.freed.len() > QUARANTINE_COUNT || self.freed_bytes > QUARANTINE_BYTES {
            let oldest = self.freed.pop_front().and_then(|block| block.mapping);
            self.freed_bytes -= oldest.map_or(0, |mapping| mapping.bytes());
        }
        true
    }

    /// Frees all blocks except variables; returns the addresses of the freed blocks.
    pub fn clear(&mut self) -> Vec<u64> {
        let blocks = self.live.values();
        let addresses: Vec<u64> = blocks
            .filter(|block| !matches!(block.kind, AllocationKind::Symbol { .. }))
            .map(|block| block.address)
            .collect();
        for &address in &addresses {
            self.free(address);
        }
        addresses
    }

    /// Locates `address` in relation to the nearest block; returns `None` if nothing is allocated.
    pub fn locate(&self, address: u64) -> Option<Location<'_>> {
        let contains = |block: &&Block| block.contains(address);
        let (mut below, mut above) = (self.live.range(..=address), self.live.range(address..));
        let below = below.next_back().map(|(_, block)| block);
        let above = above.next().map(|(_, block)| block);
        let freed = || self.freed.iter().rev().find(contains);
        let distance = above.map_or(u64::MAX, |block| block.address - address);
        let (block, relation) = if let Some(block) = below.filter(contains) {
            (block, Relation::Inside)
        } else if let Some(block) = freed() {
            (block, Relation::Freed)
        } else if let Some(block) = below.filter(|block| address - block.end() < distance) {
            (block, Relation::After(address - block.end()))
        } else {
            (above?, Relation::Before(distance))
        };
        Some(Location { block, relation })
    }
}

impl std::fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (address, bytes) = (self.block.address, self.block.bytes);
        let block = match (&self.block.kind, self.relation) {
            (AllocationKind::Symbol { name }, Relation::Inside) => format!("variable {name}"),
            (AllocationKind::Symbol { name }, _) => {
                format!("variable {name} ({bytes} bytes at {address:#x})")
            }
            _ => format!("the {bytes}-byte allocation at {address:#x}"),
        };
        match self.relation {
            Relation::Inside => write!(f, "inside {block}"),
            Relation::Freed => write!(f, "inside {block}, which was freed"),
            Relation::After(distance) => write!(f, "{distance} bytes past the end of {block}"),
            Relation::Before(distance) => write!(f, "{distance} bytes before {block}"),
        }
    }
}

#[cfg(test)]
mod tests;
