//! Writes a capture folder, from any number of threads.

use crate::capture::builder::ChunkBuilder;
use crate::capture::names::NAMES_FILE;
use crate::capture::stream_files;
use crate::container::{ChunkFile, Kind, Role, SealedChunk};
use crate::error::{Result, TraceError};
use crate::program::event::TimedEvent;
use crate::{Event, Header, ModuleTable, Outcome, StreamId};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Timeout of [`CaptureWriter::finish`] for a file's lock, which a thread may hold when its fault handler runs.
const FINISH_TIMEOUT: Duration = Duration::from_secs(2);

pub const EVENTS_FILE: &str = "events.sst";

pub fn stream_file_name(stream: StreamId) -> String {
    format!("stream-{stream}.sst")
}

/// Writes a capture. Every call writes to the file before it returns.
pub struct CaptureWriter {
    folder: PathBuf,
    /// Holds the folder's lock, so that no other process writes to it.
    _lock: std::fs::File,
    start: Option<Instant>,
    events: Mutex<ChunkFile>,
    streams: Mutex<BTreeMap<StreamId, StreamWriter>>,
}

impl CaptureWriter {
    /// Creates the folder and `events.sst`, and writes the header. Removes any older capture in the folder. Fails with
    /// [`TraceError::InUse`] if another process is writing to the folder.
    pub fn create(folder: impl Into<PathBuf>, header: &Header) -> Result<Self> {
        let folder = folder.into();
        std::fs::create_dir_all(&folder).map_err(TraceError::io("create", &folder))?;
        let lock = std::fs::File::open(&folder).map_err(TraceError::io("open", &folder))?;
        // Some file systems do not support locks.
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(TraceError::InUse { path: folder });
        }
        remove_older(&folder)?;
        let path = folder.join(EVENTS_FILE);
        let first = json_chunk(Kind::HEADER, header)?;
        let events = ChunkFile::create(path, Role::Events, 0, Some(first))?;
        Ok(CaptureWriter {
            folder,
            _lock: lock,
            start: None,
            events: Mutex::new(events),
            streams: Mutex::new(BTreeMap::new()),
        })
    }

    /// Timestamps each event with the time since `start`; without a clock, events have no timestamps.
    #[must_use]
    pub fn with_clock(mut self, start: Instant) -> Self {
        self.start = Some(start);
        self
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds the static tables of a module.
    pub fn module(&self, module: &ModuleTable) -> Result<()> {
        let chunk = json_chunk(Kind::MODULE, module)?;
        self.events.lock().write(chunk)
    }

    pub fn event(&self, event: &Event) -> Result<()> {
        let mut events = self.events.lock();
        let since_start = self.start.map(|start| start.elapsed().as_nanos());
        let at_ns = since_start.map(|ns| u64::try_from(ns).unwrap_or(u64::MAX));
        events.write(json_chunk(Kind::EVENT, &TimedEvent { at_ns, event })?)
    }

    /// Adds parts of tables, from [`Parts::seal`](crate::Parts::seal), as a separate chunk.
    pub fn parts(&self, parts: SealedChunk) -> Result<()> {
        self.events.lock().write(parts)
    }

    /// Returns the writer of a stream's accesses. The first call creates its file.
    pub fn stream(&self, stream: StreamId) -> Result<StreamWriter> {
        let mut streams = self.streams.lock();
        if let Some(writer) = streams.get(&stream) {
            return Ok(writer.clone());
        }
        let path = self.folder.join(stream_file_name(stream));
        let file = ChunkFile::create(path, Role::Stream, stream.0, None)?;
        let file = Arc::new(Mutex::new(file));
        let writer = StreamWriter { file };
        streams.insert(stream, writer.clone());
        Ok(writer)
    }

    /// Ends every file. Unless this is called, or if anything is written afterwards, the capture is incomplete.
    pub fn finish(&self, outcome: &Outcome) -> Result<()> {
        let mut result = Ok(());
        let streams = self.streams.try_lock_for(FINISH_TIMEOUT);
        for stream in streams.iter().flat_map(|streams| streams.values()) {
            result = result.and(end(&stream.file, SealedChunk::new(Kind::END, 0, 0, &[])));
        }
        let chunk = json_chunk(Kind::END, outcome);
        result.and(chunk.and_then(|chunk| end(&self.events, chunk)))
    }
}

/// Ends a file. Fails if its lock is not released, as happens in the fault handler of a thread that was writing to it.
fn end(file: &Mutex<ChunkFile>, chunk: SealedChunk) -> Result<()> {
    match file.try_lock_for(FINISH_TIMEOUT) {
        Some(mut file) => file.end(chunk),
        None => Err(TraceError::Busy),
    }
}

/// Ends the files of the capture in `folder` if its program exited without doing so. Skips files with an end chunk.
pub fn end_capture(folder: &Path, outcome: &Outcome) -> Result<()> {
    let lock = std::fs::File::open(folder).map_err(TraceError::io("open", folder))?;
    let start = Instant::now();
    // A killed process holds the lock until the kernel has cleaned up after it.
    while let Err(TryLockError::WouldBlock) = lock.try_lock() {
        if start.elapsed() > FINISH_TIMEOUT {
            let path = folder.to_owned();
            return Err(TraceError::InUse { path });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    for stream in stream_files(folder)? {
        let path = folder.join(stream_file_name(stream));
        ChunkFile::ensure_ended(path, Role::Stream, SealedChunk::new(Kind::END, 0, 0, &[]))?;
    }
    let end = json_chunk(Kind::END, outcome);
    ChunkFile::ensure_ended(folder.join(EVENTS_FILE), Role::Events, end?)
}

/// Writes the accesses of one stream; clones write to the same file.
#[derive(Clone)]
pub struct StreamWriter {
    file: Arc<Mutex<ChunkFile>>,
}

impl StreamWriter {
    /// Seals a chunk and writes it, unless it is empty. The builder, now empty, accepts more groups of the same launch.
    pub fn flush(&self, chunk: &mut ChunkBuilder) -> Result<()> {
        if chunk.is_empty() {
            return Ok(());
        }
        let sealed = chunk.seal();
        self.file.lock().write(sealed)
    }
}

fn json_chunk(kind: Kind, value: &impl serde::Serialize) -> Result<SealedChunk> {
    let json = serde_json::to_vec(value).map_err(|source| TraceError::Encode { source })?;
    Ok(SealedChunk::new(kind, 0, 0, &json))
}

fn remove_older(folder: &Path) -> Result<()> {
    let entries = std::fs::read_dir(folder).map_err(TraceError::io("read", folder))?;
    for entry in entries {
        let path = entry.map_err(TraceError::io("read", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == EVENTS_FILE
            || name == NAMES_FILE
            || name.starts_with("stream-") && name.ends_with(".sst")
        {
            std::fs::remove_file(&path).map_err(TraceError::io("remove", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
