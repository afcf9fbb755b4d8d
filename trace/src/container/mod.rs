//! Container format of all capture files: a file header, then chunks, each checksummed and written in one piece.
//!
//! ```text
//! file:  header (32 bytes), chunk, chunk, …
//! chunk: header (48 bytes), payload
//! ```
//!
//! All numbers are little-endian. `docs/trace-format.md` describes every field. A truncated file is readable up to its
//! last whole chunk; a changed byte is detected by one of the two checksums in each chunk.

mod reader;
mod writer;

pub(crate) use reader::{ChunkInfo, ChunkReader, Problem};
pub(crate) use writer::ChunkFile;
pub use writer::SealedChunk;

/// First bytes of every capture file.
pub const MAGIC: [u8; 8] = *b"SUPERST\x1a";

/// Format version in the header of every capture file; no other version is read.
pub const FORMAT_VERSION: u32 = 1;

pub(crate) const FILE_HEADER_BYTES: usize = 32;
pub(crate) const CHUNK_HEADER_BYTES: usize = 48;
const CHUNK_MAGIC: [u8; 4] = *b"CHNK";
const FLAG_ZSTD: u8 = 1;
/// Only the payload's head is compressed; its stored length precedes it.
const FLAG_HEAD: u8 = 2;
const HEAD_LENGTH_BYTES: usize = 4;
/// Limit on a chunk's size; a chunk that claims more is damaged.
pub(crate) const MAX_CHUNK_BYTES: usize = 1 << 30;
/// Limit on a chunk's accesses; a chunk that claims more is damaged.
pub(crate) const MAX_CHUNK_ACCESSES: u64 = 1 << 32;

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
