//! The chunk container that every capture file is: file header, then chunks, each checksummed and written at once.
//!
//! ```text
//! file:  header (32 bytes), chunk, chunk, …
//! chunk: header (48 bytes), payload
//! ```
//!
//! All numbers are little-endian. `docs/trace-format.md` describes every field. A file that was cut off is readable up to
//! its last whole chunk; a changed byte is found by one of the two checksums of each chunk.

mod reader;
mod writer;

pub(crate) use reader::{ChunkReader, Problem};
pub(crate) use writer::ChunkFile;
pub use writer::SealedChunk;

/// First bytes of every capture file.
pub const MAGIC: [u8; 8] = *b"SUPERST\x1a";

/// Version of an `events.sst`, unless something in it needs a later one.
pub(crate) const EVENTS_VERSION: u32 = 2;

/// Version of an `events.sst` with opaque launches: a reader that does not know them would take what they wrote for unwritten.
pub(crate) const OPAQUE_VERSION: u32 = 3;
/// The version of captures with sums in place of accesses.
pub(crate) const IN_SITU_VERSION: u32 = 4;
/// Version of an `events.sst` with parts in columns, which were events before.
pub(crate) const COLUMNS_VERSION: u32 = 5;

/// The first version of a stream with the present columns of groups.
pub(crate) const GROUP_COLUMNS_VERSION: u32 = 6;

/// Version of an `events.sst` of a program that shares memory with another process: a reader that does not know that would take
/// the memory for the program's own.
pub(crate) const PROCESSES_VERSION: u32 = 7;

/// Version of a stream, in which groups may have strays.
pub const FORMAT_VERSION: u32 = 8;

/// Version of an `events.sst` with transfers between blocks of CTAs: a reader that does not know them would take them for CTAs.
pub(crate) const CTA_BLOCKS_VERSION: u32 = 9;

/// The newest version that is read.
const LATEST_VERSION: u32 = CTA_BLOCKS_VERSION;

/// The oldest version that is still read.
const OLDEST_VERSION: u32 = 1;

pub(crate) const FILE_HEADER_BYTES: usize = 32;
pub(crate) const CHUNK_HEADER_BYTES: usize = 48;
const CHUNK_MAGIC: [u8; 4] = *b"CHNK";
const FLAG_ZSTD: u8 = 1;
/// Only the payload's head is compressed; its stored length precedes it.
const FLAG_HEAD: u8 = 2;
/// Bytes of that length.
const HEAD_LENGTH_BYTES: usize = 4;
/// A chunk that claims to be larger is damaged.
pub(crate) const MAX_CHUNK_BYTES: usize = 1 << 30;
/// And one that claims more accesses.
const MAX_CHUNK_ACCESSES: u64 = 1 << 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Role {
    Events = 1,
    Stream = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(pub u8);

impl Kind {
    pub(crate) const HEADER: Kind = Kind(1);
    pub(crate) const MODULE: Kind = Kind(2);
    pub(crate) const EVENT: Kind = Kind(3);
    pub(crate) const ACCESSES: Kind = Kind(4);
    pub(crate) const END: Kind = Kind(5);
    pub(crate) const PARTS: Kind = Kind(6);
}
