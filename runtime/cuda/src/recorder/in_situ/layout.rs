//! Structures that the host and the device share. Mirrors `device/in_situ.h`.

use std::sync::atomic::AtomicU64;
use superstep_trace::CtaBlocks;

pub const VERSION: u64 = 0x3_0000_0002;
/// Width in bits of a launch's number in the second trailing parameter.
pub const LAUNCH_BITS: u32 = 26;
pub const SLOT_SHIFT: u32 = 26;
/// Maximum number of launches whose sums may be in flight.
pub const SLOTS: usize = 64;

pub const BLOCK_SHIFT: u32 = 21;
pub const ENTRY_BYTES: u64 = 16;
/// Size in bytes of a block's shadow, which has an entry for each 4-byte word.
pub const SHADOW_BYTES: u64 = (1 << BLOCK_SHIFT) / 4 * ENTRY_BYTES;

/// Size in bytes of a line. For each line, shadow memory has the 32-bit number of the last launch that stored to it.
pub const LINE_BYTES: u64 = 1 << 5;
pub const STORED_IN_BYTES: u64 = 4;
/// Size in bytes of the shadow memory for the lines of a block.
pub const LINES_BYTES: u64 = (1 << BLOCK_SHIFT) / LINE_BYTES * STORED_IN_BYTES;

/// Size of the cache of words known to CTAs, and the number of launches after which it is cleared.
pub const KNOWN_BYTES: usize = 8 << 20;
pub const KNOWN_LAUNCHES: u64 = 16;

pub const COPIES: usize = 32;
pub const SUMS: usize = 160;
pub const THREADS: usize = 0;
pub const MISSING: usize = 120;
pub const ODD_THREADS: usize = 123;
pub const ODD_BYTES: usize = 126;
pub const BYTES: usize = 129;
pub const PERHAPS_LOCAL: usize = 136;
pub const SEVERAL_WRITERS: usize = 137;
pub const RACING: usize = 138;
pub const NEW_ROWS: usize = 139;
pub const NOT_SPLIT: usize = 140;
pub const UNSHADOWED_LOADED: usize = 141;
pub const UNSHADOWED_STORED: usize = 142;
pub const WITHIN_LAUNCH: usize = 143;

/// Number of classes of loaded bytes.
pub const CLASSES: usize = 8;
pub const INPUT_CLASS: usize = 2;
/// Number of access widths: the powers of two from 1 to 16 bytes.
pub const WIDTHS: usize = 5;

pub const LAUNCH_SHIFT: u32 = 38;
pub const CTA_SHIFT: u32 = 11;
pub const CTA_MASK: u64 = 0x7ff_ffff;
pub const OF_LAUNCHES: u64 = 0x7ff_ffff;
pub const PERHAPS_AGAIN: u64 = 0x7ff_fffe;

/// Fill bytes for entries and lines: written by the host, never written, written by unknown code.
pub const INPUT: u8 = 0;
pub const UNWRITTEN: u8 = 0xff;
pub const UNKNOWN: u8 = 0xee;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of the block, or 0 for a free place.
    pub number: u64,
    pub lines: u64,
    pub shadow: u64,
    pub unused: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    pub source: u64,
    pub receiver: u64,
    pub bytes: u64,
    pub count: u64,
    pub stored: u64,
    pub unused: u64,
}

/// An addition for which the table of transfers has no room; see [`Transfer`] and `additions.rs`.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Addition {
    pub source: AtomicU64,
    pub receiver: AtomicU64,
}

/// Bits of an addition that contain its numbers, and the position of the number of loads among the receiver's.
pub const ADDED_MASK: u64 = 0x7ff;
pub const ADDED_COUNT_SHIFT: u32 = 5;

/// The structure to which a kernel's first trailing parameter points. Pointers are device addresses.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    pub version: u64,
    pub blocks: u64,
    pub block_mask: u64,
    pub known: u64,
    pub sums: u64,
    pub readers: u64,
    pub reader_mask: u64,
    pub transfers: u64,
    pub transfer_mask: u64,
    pub kernels: u64,
    pub split: u64,
    pub split_most: u64,
    pub more_split: u64,
    pub more_split_most: u64,
    pub selection: u64,
    pub block_bits: u64,
    pub additions: u64,
    pub addition_mask: u64,
    pub added: u64,
    pub taken: u64,
}

impl Context {
    /// Returns the bits of a source or receiver that identify its block of CTAs.
    pub fn block_bits(blocks: CtaBlocks) -> u64 {
        !((u64::from(blocks.ctas()) << CTA_SHIFT) - 1)
    }
}

#[cfg(test)]
mod tests;
