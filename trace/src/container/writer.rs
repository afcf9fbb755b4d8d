//! Seals chunks and appends them to files.

use super::{
    CHUNK_HEADER_BYTES, CHUNK_MAGIC, ChunkReader, FILE_HEADER_BYTES, FLAG_HEAD, FLAG_ZSTD,
    FORMAT_VERSION, HEAD_LENGTH_BYTES, Kind, MAGIC, MAX_CHUNK_BYTES, Problem, Role,
};
use crate::error::{Result, TraceError};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::Compressor;

const COMPRESSION_LEVEL: i32 = 1;
/// Shorter payloads are stored uncompressed.
const MIN_COMPRESSED_BYTES: usize = 128;
/// Size of the sample taken from a tail. The tail is compressed only if the sample shrinks below `TAIL_LIMIT_BYTES`.
const TAIL_SAMPLE_BYTES: usize = 8 << 10;
const TAIL_LIMIT_BYTES: usize = TAIL_SAMPLE_BYTES / 8 * 7;

/// A chunk ready to be written: its header without the index and the header checksum, then the stored payload.
#[derive(Debug)]
pub struct SealedChunk {
    bytes: Vec<u8>,
}

impl SealedChunk {
    /// Compresses `payload` if that helps, and fills in everything but the chunk's index.
    pub(crate) fn new(kind: Kind, tag: u32, items: u64, payload: &[u8]) -> Self {
        Self::from_parts(kind, tag, items, payload, &[])
    }

    /// Seals a payload of two parts. The second one is compressed only if a sample of it shrinks.
    pub(crate) fn from_parts(kind: Kind, tag: u32, items: u64, head: &[u8], tail: &[u8]) -> Self {
        let length = head.len() + tail.len();
        let mut bytes = Vec::with_capacity(CHUNK_HEADER_BYTES + length);
        bytes.resize(CHUNK_HEADER_BYTES, 0);
        let flags = store(head, tail, &mut bytes);
        let (header, stored) = bytes.split_at_mut(CHUNK_HEADER_BYTES);
        header[0..4].copy_from_slice(&CHUNK_MAGIC);
        header[4] = kind.0;
        header[5] = flags;
        header[12..16].copy_from_slice(&tag.to_le_bytes());
        header[16..24].copy_from_slice(&items.to_le_bytes());
        header[24..28].copy_from_slice(&(length as u32).to_le_bytes());
        header[28..32].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        header[32..40].copy_from_slice(&xxh3_64(stored).to_le_bytes());
        SealedChunk { bytes }
    }

    pub fn stored_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn number(&mut self, index: u32) -> &[u8] {
        self.bytes[8..12].copy_from_slice(&index.to_le_bytes());
        let checksum = xxh3_64(&self.bytes[..40]);
        self.bytes[40..48].copy_from_slice(&checksum.to_le_bytes());
        &self.bytes
    }
}

/// Appends the stored form of a payload to `out`. Returns the flags.
fn store(head: &[u8], tail: &[u8], out: &mut Vec<u8>) -> u8 {
    let start = out.len();
    if tail.len() > TAIL_SAMPLE_BYTES {
        let middle = (tail.len() - TAIL_SAMPLE_BYTES) / 2;
        let sample = &tail[middle..middle + TAIL_SAMPLE_BYTES];
        let shrinks = compress(sample, out) && out.len() - start < TAIL_LIMIT_BYTES;
        out.truncate(start);
        if !shrinks {
            out.resize(start + HEAD_LENGTH_BYTES, 0);
            if compress(head, out) {
                let length = (out.len() - start - HEAD_LENGTH_BYTES) as u32;
                out[start..start + HEAD_LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
                out.extend_from_slice(tail);
                return FLAG_HEAD;
            }
            out.truncate(start);
            out.extend_from_slice(head);
            out.extend_from_slice(tail);
            return 0;
        }
    }
    let whole = match tail {
        [] => Cow::Borrowed(head),
        _ => Cow::Owned([head, tail].concat()),
    };
    if whole.len() >= MIN_COMPRESSED_BYTES && compress(&whole, out) {
        return FLAG_ZSTD;
    }
    out.truncate(start);
    out.extend_from_slice(&whole);
    0
}

fn compress(payload: &[u8], out: &mut Vec<u8>) -> bool {
    thread_local! {
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    }
    let start = out.len();
    out.resize((start + payload.len()).saturating_sub(1).max(start), 0);
    let used = COMPRESSOR.try_with(|cell| {
        let mut cell = cell.try_borrow_mut().ok()?;
        if cell.is_none() {
            *cell = Compressor::new(COMPRESSION_LEVEL).ok();
        }
        // zstd fails if the destination is too small, that is, if the result would not be smaller.
        cell.as_mut()?
            .compress_to_buffer(payload, &mut out[start..])
            .ok()
    });
    let Ok(Some(used)) = used else { return false };
    out.truncate(start + used);
    true
}

pub(crate) struct ChunkFile {
    file: File,
    path: PathBuf,
    length: u64,
    next_index: u32,
    /// Start of the end chunk, if there is one.
    end: Option<u64>,
    stopped: bool,
}

impl ChunkFile {
    /// Creates the file, replacing an older one, with its header and the chunk `first`. It is renamed into place last,
    /// so that any file with that name is readable.
    pub(crate) fn create(
        path: PathBuf,
        role: Role,
        stream: u32,
        first: Option<SealedChunk>,
    ) -> Result<Self> {
        let part = path.with_extension("part");
        let file = File::create(&part).map_err(TraceError::io("create", &path))?;
        let mut header = [0; FILE_HEADER_BYTES];
        header[0..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&(role as u32).to_le_bytes());
        header[16..20].copy_from_slice(&stream.to_le_bytes());
        let checksum = xxh3_64(&header[..24]);
        header[24..32].copy_from_slice(&checksum.to_le_bytes());
        let mut this = ChunkFile {
            file,
            path,
            length: 0,
            next_index: 0,
            end: None,
            stopped: false,
        };
        this.append(&header)?;
        if let Some(chunk) = first {
            this.write(chunk)?;
        }
        std::fs::rename(&part, &this.path).map_err(TraceError::io("create", &this.path))?;
        Ok(this)
    }

    /// Adds the end chunk to a file that is no longer being written, unless it already has one.
    pub(crate) fn ensure_ended(path: PathBuf, role: Role, mut last: SealedChunk) -> Result<()> {
        let reader = ChunkReader::open(&path, role)?;
        if let Some(problem) = reader.problem {
            let (Problem::CutOff { offset } | Problem::Damaged { offset, .. }) = problem;
            let reason = "its last chunk is incomplete, so no end chunk can be added";
            return Err(TraceError::damaged(&path, offset, reason));
        }
        if (reader.chunks.last()).is_some_and(|chunk| chunk.kind == Kind::END) {
            return Ok(());
        }
        let file = File::options().append(true).open(&path);
        let chunk = last.number(reader.chunks.len() as u32);
        let written = file.and_then(|mut file| file.write_all(chunk));
        written.map_err(TraceError::io("write", path))
    }

    /// Adds the end chunk, replacing an earlier one.
    pub(crate) fn end(&mut self, chunk: SealedChunk) -> Result<()> {
        self.remove_end()?;
        let start = self.length;
        self.write(chunk)?;
        self.end = Some(start);
        Ok(())
    }

    fn remove_end(&mut self) -> Result<()> {
        let Some(start) = self.end.take() else {
            return Ok(());
        };
        let cut = (self.file.set_len(start)).and_then(|()| self.file.seek(SeekFrom::Start(start)));
        cut.map_err(|source| {
            self.stopped = true;
            TraceError::io("write", &self.path)(source)
        })?;
        self.length = start;
        self.next_index -= 1;
        Ok(())
    }

    /// Adds a chunk, after which `end` must be called again. After a failure, the file ends with the last whole chunk
    /// and accepts no more chunks.
    pub(crate) fn write(&mut self, mut chunk: SealedChunk) -> Result<()> {
        if chunk.bytes.len() > MAX_CHUNK_BYTES {
            let reason = format!("a chunk of {} bytes is too large", chunk.bytes.len());
            let too_large = std::io::Error::other(reason);
            return Err(TraceError::io("write", &self.path)(too_large));
        }
        self.remove_end()?;
        self.append(chunk.number(self.next_index))?;
        self.next_index += 1;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.stopped {
            let path = self.path.clone();
            return Err(TraceError::WriterStopped { path });
        }
        self.file.write_all(bytes).map_err(|source| {
            self.stopped = true;
            // Cut off the incomplete chunk. If that also fails, readers ignore the chunk.
            let _ = self.file.set_len(self.length);
            let (path, kept_bytes) = (self.path.clone(), self.length);
            match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    TraceError::DiskFull { path, kept_bytes }
                }
                _ => TraceError::io("write", path)(source),
            }
        })?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
