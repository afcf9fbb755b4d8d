//! Device memory: each allocation ends at a guard page, and freed ranges stay forbidden for a while, so that accesses outside of
//! allocations fault where they happen.

use crate::mapping::{Mapping, PAGE_BYTES};
use std::collections::{BTreeMap, VecDeque};
use superstep_trace::AllocationKind;

/// Alignment of an allocation's first byte; also the granularity of its distance to the guard page.
pub const ALIGNMENT_BYTES: usize = 256;
/// Forbidden address space in front of and behind an allocation.
const GUARD_BYTES: usize = 16 * PAGE_BYTES;
/// Freed ranges that stay forbidden: their number ...
const QUARANTINE_COUNT: usize = 2048;
/// ... and their address space.
const QUARANTINE_BYTES: usize = 1 << 38;

/// A live or freed range of memory.
#[derive(Debug)]
pub struct Block {
    pub address: u64,
    /// Size as asked for.
    pub bytes: u64,
    pub kind: AllocationKind,
    mapping: Option<Mapping>,
}

impl Block {
    /// One past the last byte.
    pub fn end(&self) -> u64 {
        self.address + self.bytes
    }

    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.bytes
    }

    /// Whether the program itself owns the memory (`cudaHostRegister`).
    pub fn is_registered(&self) -> bool {
        self.mapping.is_none()
    }
}

/// Where an address lies in relation to what is, or was, allocated.
#[derive(Debug, PartialEq, Eq)]
pub enum Location {
    /// Inside a live block that starts at `address`.
    Inside {
        address: u64,
        bytes: u64,
    },
    /// Inside a block that was freed.
    Freed {
        address: u64,
        bytes: u64,
    },
    /// `distance` bytes behind the end of a block (0: the first byte behind it).
    Behind {
        address: u64,
        bytes: u64,
        distance: u64,
    },
    /// `distance` bytes in front of a block (1: the byte right in front).
    Before {
        address: u64,
        bytes: u64,
        distance: u64,
    },
    Nowhere,
}

#[derive(Debug, Default)]
pub struct Heap {
    live: BTreeMap<u64, Block>,
    freed: VecDeque<Block>,
    freed_bytes: usize,
    live_bytes: u64,
}

impl Heap {
    /// Allocates `bytes` (at least 1) of zeroes; `None` when the operating system has no more.
    pub fn allocate(&mut self, bytes: u64, kind: AllocationKind) -> Option<u64> {
        let used = usize::try_from(bytes)
            .ok()?
            .checked_next_multiple_of(ALIGNMENT_BYTES)?;
        let pages = used.checked_next_multiple_of(PAGE_BYTES)?;
        let mapping = Mapping::reserve(pages.checked_add(2 * GUARD_BYTES)?).ok()?;
        mapping.open(GUARD_BYTES, pages).ok()?;
        let address = mapping.base() as u64 + (GUARD_BYTES + pages - used) as u64;
        self.live_bytes += bytes;
        self.live.insert(
            address,
            Block {
                address,
                bytes,
                kind,
                mapping: Some(mapping),
            },
        );
        Some(address)
    }

    /// Takes note of host memory that the program owns; false when it overlaps a block.
    pub fn register(&mut self, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes) else {
            return false;
        };
        if bytes == 0
            || self
                .live
                .range(..end)
                .next_back()
                .is_some_and(|(_, block)| block.end() > address)
        {
            return false;
        }
        self.live.insert(
            address,
            Block {
                address,
                bytes,
                kind: AllocationKind::Pinned,
                mapping: None,
            },
        );
        true
    }

    /// The live block that starts at `address`.
    pub fn block_at(&self, address: u64) -> Option<&Block> {
        self.live.get(&address)
    }

    /// The live block that holds `address`.
    pub fn find(&self, address: u64) -> Option<&Block> {
        self.live
            .range(..=address)
            .next_back()
            .map(|(_, block)| block)
            .filter(|block| block.contains(address))
    }

    /// The live blocks, by ascending address.
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.live.values()
    }

    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Frees the block that starts at `address`; false when there is none.
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
            let oldest = self.freed.pop_front();
            self.freed_bytes -= oldest
                .and_then(|block| block.mapping)
                .map_or(0, |mapping| mapping.bytes());
        }
        true
    }

    /// Frees everything; returns the addresses.
    pub fn clear(&mut self) -> Vec<u64> {
        let addresses: Vec<u64> = self.live.keys().copied().collect();
        for &address in &addresses {
            self.free(address);
        }
        addresses
    }

    /// Describes `address` in relation to the nearest block.
    pub fn locate(&self, address: u64) -> Location {
        let below = self
            .live
            .range(..=address)
            .next_back()
            .map(|(_, block)| block);
        if let Some(block) = below.filter(|block| block.contains(address)) {
            return Location::Inside {
                address: block.address,
                bytes: block.bytes,
            };
        }
        if let Some(block) = self
            .freed
            .iter()
            .rev()
            .find(|block| block.contains(address))
        {
            return Location::Freed {
                address: block.address,
                bytes: block.bytes,
            };
        }
        let above = self.live.range(address..).next().map(|(_, block)| block);
        let behind = below.map(|block| (address - block.end(), block));
        let before = above.map(|block| (block.address - address, block));
        match (behind, before) {
            (Some((distance, block)), None) => behind_of(block, distance),
            (Some((distance, block)), Some((other, _))) if distance < other => {
                behind_of(block, distance)
            }
            (_, Some((distance, block))) => Location::Before {
                address: block.address,
                bytes: block.bytes,
                distance,
            },
            (None, None) => Location::Nowhere,
        }
    }
}

fn behind_of(block: &Block, distance: u64) -> Location {
    Location::Behind {
        address: block.address,
        bytes: block.bytes,
        distance,
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Inside { address, bytes } => {
                write!(f, "inside the {bytes} byte allocation at {address:#x}")
            }
            Location::Freed { address, bytes } => {
                write!(
                    f,
                    "inside the {bytes} byte allocation at {address:#x}, which was freed"
                )
            }
            Location::Behind {
                address,
                bytes,
                distance,
            } => {
                write!(
                    f,
                    "{distance} bytes behind the end of the {bytes} byte allocation at {address:#x}"
                )
            }
            Location::Before {
                address,
                bytes,
                distance,
            } => {
                write!(
                    f,
                    "{distance} bytes in front of the {bytes} byte allocation at {address:#x}"
                )
            }
            Location::Nowhere => f.write_str("nothing is allocated"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_aligned_and_end_at_a_page() {
        let mut heap = Heap::default();
        for bytes in [1, 255, 256, 257, 4096, 5000, 1 << 20] {
            let address = heap.allocate(bytes, AllocationKind::Device).unwrap();
            assert_eq!(address % ALIGNMENT_BYTES as u64, 0);
            let rounded = bytes.next_multiple_of(ALIGNMENT_BYTES as u64);
            assert_eq!((address + rounded) % PAGE_BYTES as u64, 0);
            // SAFETY: the block was just allocated with at least this many bytes.
            unsafe { ((address + bytes - 1) as *mut u8).write(1) };
            assert_eq!(
                heap.find(address + bytes - 1).map(|block| block.bytes),
                Some(bytes)
            );
            assert!(heap.find(address + bytes).is_none());
        }
    }

    #[test]
    fn addresses_outside_are_described() {
        let mut heap = Heap::default();
        assert_eq!(heap.locate(5), Location::Nowhere);
        let address = heap.allocate(100, AllocationKind::Device).unwrap();
        assert_eq!(
            heap.locate(address + 104),
            Location::Behind {
                address,
                bytes: 100,
                distance: 4
            }
        );
        assert_eq!(
            heap.locate(address - 8),
            Location::Before {
                address,
                bytes: 100,
                distance: 8
            }
        );
        assert_eq!(
            heap.locate(address + 99),
            Location::Inside {
                address,
                bytes: 100
            }
        );
        assert!(heap.free(address));
        assert!(!heap.free(address));
        assert_eq!(
            heap.locate(address + 3),
            Location::Freed {
                address,
                bytes: 100
            }
        );
        assert_eq!(heap.live_bytes(), 0);
    }

    #[test]
    fn host_memory_is_registered_once() {
        let mut heap = Heap::default();
        assert!(heap.register(0x1000, 64));
        assert!(!heap.register(0x1020, 64), "overlaps");
        assert!(!heap.register(0xff0, 0x20), "overlaps from below");
        assert!(heap.register(0x1040, 64));
        assert!(heap.block_at(0x1000).unwrap().is_registered());
        assert!(heap.free(0x1000));
    }

    #[test]
    fn the_quarantine_does_not_grow_for_ever() {
        let mut heap = Heap::default();
        for _ in 0..QUARANTINE_COUNT + 10 {
            let address = heap.allocate(10, AllocationKind::Device).unwrap();
            assert!(heap.free(address));
        }
        assert_eq!(heap.freed.len(), QUARANTINE_COUNT);
    }
}
