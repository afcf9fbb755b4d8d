//! Finds the whole chunks of a file and reads them.

use super::{
    CHUNK_HEADER_BYTES, CHUNK_MAGIC, FILE_HEADER_BYTES, FLAG_HEAD, FORMAT_VERSION,
    HEAD_LENGTH_BYTES, Kind, MAGIC, MAX_CHUNK_ACCESSES, MAX_CHUNK_BYTES, Role,
};
use crate::error::{Result, TraceError};
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::Decompressor;

/// Position of a chunk, and the contents of its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkInfo {
    pub kind: Kind,
    /// Launch number, in a chunk of accesses.
    pub tag: u32,
    /// Number of thread accesses, in a chunk of accesses.
    pub items: u64,
    /// Start of the chunk's header in the file.
    pub offset: u64,
    pub raw_bytes: u32,
    pub stored_bytes: u32,
    flags: u8,
    checksum: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    CutOff { offset: u64 },
    Damaged { offset: u64, reason: String },
}

#[derive(Debug)]
pub(crate) struct ChunkReader {
    file: File,
    pub path: PathBuf,
    pub stream: u32,
    pub chunks: Vec<ChunkInfo>,
    pub problem: Option<Problem>,
}

impl ChunkReader {
    /// Reads the headers of the file and of all its chunks. Fails if it is not a capture file of this version and
    /// `role`. Damage after the header is recorded in `problem`.
    pub(crate) fn open(path: &Path, role: Role) -> Result<Self> {
        let file = File::open(path).map_err(TraceError::unreadable(path))?;
        let length = file.metadata().map_err(TraceError::unreadable(path))?.len();
        let damaged = |reason: String| TraceError::damaged(path, 0, reason);
        if length < FILE_HEADER_BYTES as u64 {
            return Err(damaged(format!(
                "the file ends after {length} bytes, inside its {FILE_HEADER_BYTES}-byte header"
            )));
        }
        let mut header = [0; FILE_HEADER_BYTES];
        file.read_exact_at(&mut header, 0)
            .map_err(TraceError::unreadable(path))?;
        if header[0..8] != MAGIC {
            let reason = "this is not a Superstep capture file: it does not start with the format's magic bytes";
            return Err(damaged(reason.to_owned()));
        }
        if xxh3_64(&header[..24]) != u64_at(&header, 24) {
            let reason = "the file header's checksum does not match";
            return Err(damaged(reason.to_owned()));
        }
        let version = u32_at(&header, 8);
        if version != FORMAT_VERSION {
            let path = path.to_owned();
            return Err(TraceError::FormatVersion { path, version });
        }
        let found = u32_at(&header, 12);
        if found != role as u32 {
            let reason = format!("expected a file of role {role:?}, found role number {found}");
            return Err(damaged(reason));
        }
        let mut reader = ChunkReader {
            file,
            path: path.to_owned(),
            stream: u32_at(&header, 16),
            chunks: Vec::new(),
            problem: None,
        };
        reader.problem = reader.scan(length)?;
        Ok(reader)
    }

    /// Reads the headers of the whole chunks. Returns the problem after the last of them, if there is one.
    fn scan(&mut self, length: u64) -> Result<Option<Problem>> {
        let mut offset = FILE_HEADER_BYTES as u64;
        let mut header = [0; CHUNK_HEADER_BYTES];
        while offset < length {
            let payload = offset + CHUNK_HEADER_BYTES as u64;
            if payload > length {
                return Ok(Some(Problem::CutOff { offset }));
            }
            self.read_at(&mut header, offset)?;
            let info = match parse_chunk_header(&header, offset, self.chunks.len()) {
                Ok(info) => info,
                Err(problem) => return Ok(Some(problem)),
            };
            offset = payload + u64::from(info.stored_bytes);
            if offset > length {
                return Ok(Some(Problem::CutOff {
                    offset: info.offset,
                }));
            }
            self.chunks.push(info);
        }
        Ok(None)
    }

    fn read_at(&self, out: &mut [u8], offset: u64) -> Result<()> {
        let read = self.file.read_exact_at(out, offset);
        read.map_err(TraceError::unreadable(&self.path))
    }

    /// Reads, checks and decompresses a payload into `out`; `stored` is scratch memory.
    pub(crate) fn payload(
        &self,
        chunk: &ChunkInfo,
        stored: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let target = if chunk.flags == 0 {
            &mut *out
        } else {
            &mut *stored
        };
        target.resize(chunk.stored_bytes as usize, 0);
        self.read_at(target, chunk.offset + CHUNK_HEADER_BYTES as u64)?;
        if xxh3_64(target) != chunk.checksum {
            return Err(self.damaged(chunk, "the chunk's checksum does not match"));
        }
        if chunk.flags != 0 && decompress(chunk, stored, out).is_none() {
            return Err(self.damaged(chunk, "the chunk does not decompress to its stated length"));
        }
        Ok(())
    }

    /// Parses the payload of a chunk that contains `what` as JSON.
    pub(crate) fn json<T: DeserializeOwned>(
        &self,
        chunk: &ChunkInfo,
        payload: &[u8],
        what: &str,
    ) -> Result<T> {
        serde_json::from_slice(payload)
            .map_err(|error| self.damaged(chunk, format!("the {what} is malformed: {error}")))
    }

    pub(crate) fn damaged(&self, chunk: &ChunkInfo, reason: impl Into<String>) -> TraceError {
        TraceError::damaged(&self.path, chunk.offset, reason)
    }
}

fn decompress(chunk: &ChunkInfo, stored: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (frame, tail) = if chunk.flags & FLAG_HEAD == 0 {
        (stored, &[][..])
    } else {
        let (length, rest) = stored.split_first_chunk::<HEAD_LENGTH_BYTES>()?;
        rest.split_at_checked(u32::from_le_bytes(*length) as usize)?
    };
    let head_bytes = (chunk.raw_bytes as usize).checked_sub(tail.len())?;
    // The frame must state the same length as the header, so that a damaged header cannot cause a large allocation.
    let length = zstd::zstd_safe::get_frame_content_size(frame).ok()??;
    if length != head_bytes as u64 {
        return None;
    }
    out.resize(head_bytes, 0);
    (decompress_frame(frame, out)? == head_bytes).then(|| out.extend_from_slice(tail))
}

fn decompress_frame(stored: &[u8], out: &mut [u8]) -> Option<usize> {
    thread_local! {
        static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    DECOMPRESSOR.with(|cell| {
        let mut cell = cell.try_borrow_mut().ok()?;
        if cell.is_none() {
            *cell = Decompressor::new().ok();
        }
        cell.as_mut()?.decompress_to_buffer(stored, out).ok()
    })
}

/// Parses and checks a chunk's header.
fn parse_chunk_header(
    header: &[u8; CHUNK_HEADER_BYTES],
    offset: u64,
    index: usize,
) -> Result<ChunkInfo, Problem> {
    let damaged = |reason: String| Err(Problem::Damaged { offset, reason });
    if header[0..4] != CHUNK_MAGIC {
        return damaged("no chunk starts here".to_owned());
    }
    if xxh3_64(&header[..40]) != u64_at(header, 40) {
        return damaged("the chunk header's checksum does not match".to_owned());
    }
    let found = u32_at(header, 8);
    if found as usize != index {
        return damaged(format!("expected chunk number {index}, found {found}"));
    }
    let info = ChunkInfo {
        kind: Kind(header[4]),
        flags: header[5],
        tag: u32_at(header, 12),
        items: u64_at(header, 16),
        offset,
        raw_bytes: u32_at(header, 24),
        stored_bytes: u32_at(header, 28),
        checksum: u64_at(header, 32),
    };
    let (bytes, items) = (info.raw_bytes, info.items);
    if info.flags > FLAG_HEAD {
        return damaged(format!("unknown chunk flags {:#x}", info.flags));
    }
    if bytes as usize > MAX_CHUNK_BYTES {
        return damaged(format!("a chunk of {bytes} bytes is too large"));
    }
    if info.kind == Kind::ACCESSES && items > MAX_CHUNK_ACCESSES {
        return damaged(format!("{bytes} bytes cannot hold {items} accesses"));
    }
    if info.flags == 0 && bytes != info.stored_bytes {
        return damaged("the two lengths of an uncompressed chunk differ".to_owned());
    }
    Ok(info)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}
