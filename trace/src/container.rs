//! The chunk container that every capture file is: file header, then chunks, each checksummed and written at once.
//!
//! ```text
//! file:  header (32 bytes), chunk, chunk, …
//! chunk: header (48 bytes), payload
//! ```
//!
//! All numbers are little-endian. `docs/trace-format.md` describes every field. A file that was cut off is readable up to
//! its last whole chunk; a changed byte is found by one of the two checksums of each chunk.

use crate::error::{Result, TraceError};
use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;
use zstd::bulk::{Compressor, Decompressor};

/// First bytes of every capture file.
pub const MAGIC: [u8; 8] = *b"SUPERST\x1a";

/// Version of the container and of what is in it.
pub const FORMAT_VERSION: u32 = 1;

pub(crate) const FILE_HEADER_BYTES: usize = 32;
pub(crate) const CHUNK_HEADER_BYTES: usize = 48;
const CHUNK_MAGIC: [u8; 4] = *b"CHNK";
const FLAG_ZSTD: u8 = 1;
const COMPRESSION_LEVEL: i32 = 1;
/// Payloads shorter than this are stored as they are.
const COMPRESSION_WORTH_BYTES: usize = 128;
/// A chunk that claims to be larger is damaged.
pub(crate) const MAX_CHUNK_BYTES: usize = 1 << 30;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Role {
    Events = 1,
    Stream = 2,
}

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind(pub u8);

impl Kind {
    pub(crate) const HEADER: Kind = Kind(1);
    pub(crate) const MODULE: Kind = Kind(2);
    pub(crate) const EVENT: Kind = Kind(3);
    pub(crate) const ACCESSES: Kind = Kind(4);
    pub(crate) const END: Kind = Kind(5);
}

/// A chunk ready to be written: room for its header, then the stored payload.
#[derive(Debug)]
pub(crate) struct Sealed {
    bytes: Vec<u8>,
}

impl Sealed {
    /// Compresses `payload` where that helps and fills in all but the chunk's index.
    pub(crate) fn new(kind: Kind, tag: u32, items: u64, payload: &[u8]) -> Self {
        let mut bytes = vec![0; CHUNK_HEADER_BYTES];
        let compressed = payload.len() >= COMPRESSION_WORTH_BYTES && compress(payload, &mut bytes);
        if !compressed {
            bytes.truncate(CHUNK_HEADER_BYTES);
            bytes.extend_from_slice(payload);
        }
        let (header, stored) = bytes.split_at_mut(CHUNK_HEADER_BYTES);
        header[0..4].copy_from_slice(&CHUNK_MAGIC);
        header[4] = kind.0;
        header[5] = if compressed { FLAG_ZSTD } else { 0 };
        header[12..16].copy_from_slice(&tag.to_le_bytes());
        header[16..24].copy_from_slice(&items.to_le_bytes());
        header[24..28].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        header[28..32].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        header[32..40].copy_from_slice(&xxh3_64(stored).to_le_bytes());
        Sealed { bytes }
    }

    /// Size in the file, header included.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.bytes.len()
    }

    fn number(&mut self, index: u32) -> &[u8] {
        self.bytes[8..12].copy_from_slice(&index.to_le_bytes());
        let checksum = xxh3_64(&self.bytes[..40]);
        self.bytes[40..48].copy_from_slice(&checksum.to_le_bytes());
        &self.bytes
    }
}

/// Appends the compressed payload to `out`; false when that would not make it smaller.
fn compress(payload: &[u8], out: &mut Vec<u8>) -> bool {
    thread_local! {
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    }
    let start = out.len();
    out.resize(start + payload.len() - 1, 0);
    let used = COMPRESSOR.try_with(|cell| {
        let mut cell = cell.try_borrow_mut().ok()?;
        if cell.is_none() {
            *cell = Compressor::new(COMPRESSION_LEVEL).ok();
        }
        // Too small a destination is how zstd says that the result would not be smaller.
        cell.as_mut()?
            .compress_to_buffer(payload, &mut out[start..])
            .ok()
    });
    match used {
        Ok(Some(used)) => {
            out.truncate(start + used);
            true
        }
        _ => false,
    }
}

/// Appends chunks to one file.
pub(crate) struct ChunkFile {
    file: File,
    path: PathBuf,
    length: u64,
    next_index: u32,
    stopped: bool,
}

impl ChunkFile {
    /// Creates the file, replacing an older one, and writes its header.
    pub(crate) fn create(path: PathBuf, role: Role, stream: u32) -> Result<Self> {
        let file = File::create(&path).map_err(TraceError::io("create", &path))?;
        let mut this = ChunkFile {
            file,
            path,
            length: 0,
            next_index: 0,
            stopped: false,
        };
        let mut header = [0; FILE_HEADER_BYTES];
        header[0..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&(role as u32).to_le_bytes());
        header[16..20].copy_from_slice(&stream.to_le_bytes());
        let checksum = xxh3_64(&header[..24]);
        header[24..32].copy_from_slice(&checksum.to_le_bytes());
        this.append(&header)?;
        Ok(this)
    }

    /// Bytes written so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Adds a chunk. After a failure the file ends with the last whole chunk and takes no more.
    pub(crate) fn write(&mut self, mut chunk: Sealed) -> Result<()> {
        if chunk.bytes.len() > MAX_CHUNK_BYTES {
            let source = std::io::Error::other(format!(
                "a chunk of {} bytes is too large",
                chunk.bytes.len()
            ));
            return Err(TraceError::Io {
                action: "write",
                path: self.path.clone(),
                source,
            });
        }
        self.append(chunk.number(self.next_index))?;
        self.next_index += 1;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.stopped {
            return Err(TraceError::WriterStopped {
                path: self.path.clone(),
            });
        }
        match self.file.write_all(bytes) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(source) => {
                self.stopped = true;
                // What was written of the chunk is cut off again; a reader copes with it, should that fail as well.
                let _ = self.file.set_len(self.length);
                let path = self.path.clone();
                Err(match source.kind() {
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                        TraceError::DiskFull {
                            path,
                            kept_bytes: self.length,
                        }
                    }
                    _ => TraceError::Io {
                        action: "write",
                        path,
                        source,
                    },
                })
            }
        }
    }
}

/// Where a chunk lies and what its header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkInfo {
    pub kind: Kind,
    /// Launch number of an accesses chunk.
    pub tag: u32,
    /// Thread accesses of an accesses chunk.
    pub items: u64,
    /// Start of the chunk's header in the file.
    pub offset: u64,
    pub raw_bytes: u32,
    pub stored_bytes: u32,
    flags: u8,
    checksum: u64,
}

/// Why a file could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The file ends inside the chunk at this offset.
    CutOff { offset: u64 },
    /// The chunk at this offset is not what was written.
    Damaged { offset: u64, reason: String },
}

/// A capture file that is being read.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    file: File,
    path: PathBuf,
    pub stream: u32,
    /// Every whole chunk, in file order.
    pub chunks: Vec<ChunkInfo>,
    /// Why there are no more.
    pub problem: Option<Problem>,
}

impl ChunkReader {
    /// Reads the file's header and those of all of its chunks.
    ///
    /// # Errors
    /// Fails when the file cannot be read or its header is not that of a capture file of this `role`;
    /// damage further on is found in `problem`.
    pub(crate) fn open(path: &Path, role: Role) -> Result<Self> {
        let file = File::open(path).map_err(TraceError::io("open", path))?;
        let length = file.metadata().map_err(TraceError::io("read", path))?.len();
        let damaged = |reason: String| TraceError::Damaged {
            path: path.to_owned(),
            offset: 0,
            reason,
        };
        if length < FILE_HEADER_BYTES as u64 {
            return Err(damaged(format!(
                "the file ends after {length} bytes, inside its header of {FILE_HEADER_BYTES}"
            )));
        }
        let mut header = [0; FILE_HEADER_BYTES];
        file.read_exact_at(&mut header, 0)
            .map_err(TraceError::io("read", path))?;
        if header[0..8] != MAGIC {
            return Err(damaged(
                "this is not a Superstep capture file: its first bytes differ".to_owned(),
            ));
        }
        if xxh3_64(&header[..24]) != u64_at(&header, 24) {
            return Err(damaged(
                "the file header's checksum does not match".to_owned(),
            ));
        }
        let version = u32_at(&header, 8);
        if version != FORMAT_VERSION {
            let reason = format!(
                "format version {version}, this tool reads {FORMAT_VERSION}; use the tool that wrote it"
            );
            return Err(damaged(reason));
        }
        if u32_at(&header, 12) != role as u32 {
            return Err(damaged(format!(
                "expected a file of role {role:?}, found role number {}",
                u32_at(&header, 12)
            )));
        }
        let stream = u32_at(&header, 16);
        let mut reader = ChunkReader {
            file,
            path: path.to_owned(),
            stream,
            chunks: Vec::new(),
            problem: None,
        };
        reader.scan(length)?;
        Ok(reader)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn scan(&mut self, length: u64) -> Result<()> {
        let mut offset = FILE_HEADER_BYTES as u64;
        let mut header = [0; CHUNK_HEADER_BYTES];
        while offset < length {
            if length - offset < CHUNK_HEADER_BYTES as u64 {
                self.problem = Some(Problem::CutOff { offset });
                break;
            }
            self.file
                .read_exact_at(&mut header, offset)
                .map_err(TraceError::io("read", &self.path))?;
            let info = match parse_chunk_header(&header, offset, self.chunks.len()) {
                Ok(info) => info,
                Err(reason) => {
                    self.problem = Some(Problem::Damaged { offset, reason });
                    break;
                }
            };
            let end = offset + CHUNK_HEADER_BYTES as u64 + u64::from(info.stored_bytes);
            if end > length {
                self.problem = Some(Problem::CutOff { offset });
                break;
            }
            self.chunks.push(info);
            offset = end;
        }
        Ok(())
    }

    /// Reads, checks and decompresses a payload into `out`; `stored` is scratch memory.
    pub(crate) fn payload(
        &self,
        chunk: &ChunkInfo,
        stored: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let compressed = chunk.flags & FLAG_ZSTD != 0;
        let target = if compressed { &mut *stored } else { &mut *out };
        target.resize(chunk.stored_bytes as usize, 0);
        self.file
            .read_exact_at(target, chunk.offset + CHUNK_HEADER_BYTES as u64)
            .map_err(TraceError::io("read", &self.path))?;
        if xxh3_64(target) != chunk.checksum {
            return Err(self.damaged(chunk, "the chunk's checksum does not match"));
        }
        if compressed {
            out.resize(chunk.raw_bytes as usize, 0);
            let used = decompress(stored, out);
            if used != Some(chunk.raw_bytes as usize) {
                return Err(self.damaged(chunk, "the chunk does not decompress to its length"));
            }
        }
        Ok(())
    }

    pub(crate) fn damaged(&self, chunk: &ChunkInfo, reason: impl Into<String>) -> TraceError {
        TraceError::Damaged {
            path: self.path.clone(),
            offset: chunk.offset,
            reason: reason.into(),
        }
    }
}

fn decompress(stored: &[u8], out: &mut [u8]) -> Option<usize> {
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

fn parse_chunk_header(
    header: &[u8; CHUNK_HEADER_BYTES],
    offset: u64,
    index: usize,
) -> Result<ChunkInfo, String> {
    if header[0..4] != CHUNK_MAGIC {
        return Err("no chunk starts here".to_owned());
    }
    if xxh3_64(&header[..40]) != u64_at(header, 40) {
        return Err("the chunk header's checksum does not match".to_owned());
    }
    if u32_at(header, 8) as usize != index {
        return Err(format!(
            "expected chunk number {index}, found {}",
            u32_at(header, 8)
        ));
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
    if info.flags & !FLAG_ZSTD != 0 {
        return Err(format!("unknown chunk flags {:#x}", info.flags));
    }
    if info.raw_bytes as usize > MAX_CHUNK_BYTES {
        return Err(format!("a chunk of {} bytes is too large", info.raw_bytes));
    }
    if info.flags & FLAG_ZSTD == 0 && info.raw_bytes != info.stored_bytes {
        return Err("the lengths of an uncompressed chunk differ".to_owned());
    }
    Ok(info)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_gets_full_keeps_whole_chunks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.sst");
        let mut file = ChunkFile::create(path.clone(), Role::Events, 0).unwrap();
        let chunk = || Sealed::new(Kind::EVENT, 0, 0, &[7; 1000]);
        file.write(chunk()).unwrap();
        let kept = file.length();
        let disk = std::mem::replace(
            &mut file.file,
            File::options().write(true).open("/dev/full").unwrap(),
        );
        let error = file.write(chunk()).unwrap_err();
        assert!(
            matches!(error, TraceError::DiskFull { kept_bytes, .. } if kept_bytes == kept),
            "{error}"
        );
        file.file = disk;
        let error = file.write(chunk()).unwrap_err();
        assert!(matches!(error, TraceError::WriterStopped { .. }), "{error}");
        let reader = ChunkReader::open(&path, Role::Events).unwrap();
        assert_eq!((reader.chunks.len(), reader.problem), (1, None));
    }

    #[test]
    fn what_does_not_shrink_is_stored_as_it_is() {
        let noise: Vec<u8> = (0..1000u64)
            .flat_map(|i| xxh3_64(&i.to_le_bytes()).to_le_bytes())
            .collect();
        for (payload, smaller) in [
            (noise.as_slice(), false),
            (&[0; 1000], true),
            (&[0; 10], false),
            (&[], false),
        ] {
            let sealed = Sealed::new(Kind::EVENT, 0, 0, payload);
            assert_eq!(
                sealed.stored_bytes() < CHUNK_HEADER_BYTES + payload.len(),
                smaller
            );
            assert_eq!(sealed.bytes[5] == FLAG_ZSTD, smaller);
        }
    }
}
