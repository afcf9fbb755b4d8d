//! Reads a capture folder.

mod open;

use crate::codec::Decoder;
use crate::container::{ChunkReader, Role};
use crate::error::{Result, TraceError};
use crate::writer::EVENTS_FILE;
use crate::{
    AccessGroup, Event, Header, Launch, LaunchId, ModuleTable, Outcome, SiteTable, StreamId, Watch,
};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An open capture: everything but the accesses is in memory, those are read when asked for.
///
/// A capture whose program was killed, or whose file was cut off or damaged, opens as far as it goes: `complete` is false
/// and `problems` says what is missing.
#[derive(Debug)]
pub struct Capture {
    folder: PathBuf,
    /// The run as a whole.
    pub header: Header,
    /// Static tables, one for each translation unit that registered.
    pub modules: Vec<ModuleTable>,
    /// What the host side did, in order.
    pub events: Vec<Event>,
    /// When each of `events` was written, in nanoseconds since the program's start; `None` where the writer had no clock.
    pub event_times_ns: Vec<Option<u64>>,
    /// How the program ended; `None` when the capture does not say.
    pub outcome: Option<Outcome>,
    /// Whether every file was ended properly and nothing is missing.
    pub complete: bool,
    /// Whether bytes were changed or files are missing, as opposed to a program that was killed.
    pub damaged: bool,
    /// What is missing or damaged, one sentence each, with file and offset.
    pub problems: Vec<String>,
    /// How far the reading of accesses is.
    pub watch: Watch,
    sites: SiteTable,
    streams: BTreeMap<StreamId, Stream>,
    launch_events: FxHashMap<(StreamId, LaunchId), usize>,
}

#[derive(Debug)]
struct Stream {
    reader: ChunkReader,
    chunks: Vec<ChunkRef>,
}

/// A chunk of access groups, all of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    pub stream: StreamId,
    pub launch: LaunchId,
    /// Accesses in the chunk, each lane counted.
    pub thread_accesses: u64,
    index: usize,
}

/// Memory for reading chunks, to be used again for the next one.
#[derive(Default)]
pub struct GroupBuffer {
    stored: Vec<u8>,
    raw: Vec<u8>,
    decoder: Decoder,
}

impl Capture {
    /// Opens the capture in `path`, a folder or any file in it.
    ///
    /// # Errors
    /// [`TraceError::NotACapture`] when there is none, [`TraceError::Damaged`] when not even its header is readable.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let folder = open::capture_folder(path.as_ref())?;
        let events = ChunkReader::open(&folder.join(EVENTS_FILE), Role::Events)?;
        let mut capture = open::read_events(folder, &events)?;
        let ended = capture.outcome.is_some();
        if !ended && !capture.damaged {
            capture.problems.push(format!(
                "{} has no end: the program was killed, or is still running",
                events.path().display()
            ));
        }
        let streams_ended = capture.open_streams()?;
        capture.check_streams();
        capture.complete = ended && streams_ended && capture.problems.is_empty();
        Ok(capture)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sites and kernels of all modules.
    pub fn sites(&self) -> &SiteTable {
        &self.sites
    }

    /// Every launch, in the order of the host's calls.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.events.iter().filter_map(|event| match event {
            Event::Launch(launch) => Some(launch),
            _ => None,
        })
    }

    /// A launch by its numbers.
    pub fn launch(&self, stream: StreamId, launch: LaunchId) -> Option<&Launch> {
        match self.events.get(*self.launch_events.get(&(stream, launch))?) {
            Some(Event::Launch(launch)) => Some(launch),
            _ => None,
        }
    }

    /// Streams that have accesses, in ascending order.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> {
        self.streams.keys().copied()
    }

    /// The chunks of a stream in file order; none for an unknown stream.
    pub fn chunks(&self, stream: StreamId) -> &[ChunkRef] {
        self.streams
            .get(&stream)
            .map_or(&[], |stream| &stream.chunks)
    }

    /// Bytes of the capture's files.
    ///
    /// # Errors
    /// A file cannot be looked at.
    pub fn stored_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        let streams = self
            .streams
            .values()
            .map(|stream| stream.reader.path().to_owned());
        for path in streams.chain([self.folder.join(EVENTS_FILE)]) {
            bytes += std::fs::metadata(&path)
                .map_err(TraceError::unreadable(&path))?
                .len();
        }
        Ok(bytes)
    }

    /// The same capture, whose accesses are read until `watch` ends that.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// Stored bytes of all chunks of accesses: what [`Watch::read_bytes`] comes to when each is read once.
    pub fn access_bytes(&self) -> u64 {
        let chunks = self
            .streams
            .values()
            .flat_map(|stream| &stream.reader.chunks);
        chunks.map(|info| u64::from(info.stored_bytes)).sum()
    }

    /// Hands each group of a chunk to `visit`, in file order.
    ///
    /// # Errors
    /// [`TraceError::Damaged`] when the chunk is not what was written.
    pub fn read_chunk(
        &self,
        chunk: &ChunkRef,
        buffer: &mut GroupBuffer,
        mut visit: impl FnMut(&AccessGroup),
    ) -> Result<()> {
        let Some(stream) = self.streams.get(&chunk.stream) else {
            return Ok(());
        };
        let Some(info) = stream.reader.chunks.get(chunk.index) else {
            return Ok(());
        };
        let GroupBuffer {
            stored,
            raw,
            decoder,
        } = buffer;
        self.watch.check()?;
        stream.reader.payload(info, stored, raw)?;
        self.watch.count(u64::from(info.stored_bytes));
        decoder.clear();
        let (mut at, mut accesses, mut group) = (0, 0, AccessGroup::EMPTY);
        while at < raw.len() {
            let start = at;
            if decoder.decode(raw, &mut at, &mut group).is_none() {
                let reason =
                    format!("the group at byte {start} of the chunk's contents is malformed");
                return Err(stream.reader.damaged(info, reason));
            }
            accesses += group.lanes() as u64;
            visit(&group);
        }
        if accesses != info.items {
            let reason = format!(
                "expected {} thread accesses in the chunk, found {accesses}",
                info.items
            );
            return Err(stream.reader.damaged(info, reason));
        }
        Ok(())
    }

    /// Hands every group of a stream to `visit`, in file order. The groups of one thread come in program order.
    ///
    /// # Errors
    /// [`TraceError::Damaged`] at the first chunk that is not what was written; the groups before it were visited.
    pub fn groups(
        &self,
        stream: StreamId,
        mut visit: impl FnMut(&Launch, &AccessGroup),
    ) -> Result<()> {
        let mut buffer = GroupBuffer::default();
        for chunk in self.chunks(stream) {
            let launch = self.launch_of(chunk)?;
            self.read_chunk(chunk, &mut buffer, |group| visit(launch, group))?;
        }
        Ok(())
    }

    /// Reads `chunks` on all cores: each piece of work starts from `identity`, takes in groups with `fold`, and two results
    /// are joined with `reduce`, which must not care about order.
    ///
    /// # Errors
    /// [`TraceError::Damaged`] when a chunk is not what was written.
    pub fn par_fold<T: Send>(
        &self,
        chunks: &[ChunkRef],
        identity: impl Fn() -> T + Sync + Send,
        fold: impl Fn(&mut T, &Launch, &AccessGroup) + Sync + Send,
        reduce: impl Fn(T, T) -> T + Sync + Send,
    ) -> Result<T> {
        chunks
            .par_iter()
            .try_fold(
                || (identity(), GroupBuffer::default()),
                |(mut sum, mut buffer), chunk| {
                    let launch = self.launch_of(chunk)?;
                    self.read_chunk(chunk, &mut buffer, |group| fold(&mut sum, launch, group))?;
                    Ok((sum, buffer))
                },
            )
            .map(|result| result.map(|(sum, _)| sum))
            .try_reduce(&identity, |a, b| Ok(reduce(a, b)))
    }

    /// Reads every chunk and compares each launch's accesses with what its end says. Returns what is wrong, empty if nothing.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn verify(&self) -> Result<Vec<String>> {
        let mut problems = self.problems.clone();
        let chunks: Vec<_> = self
            .streams
            .values()
            .flat_map(|stream| &stream.chunks)
            .collect();
        let damages: Vec<_> = chunks
            .par_iter()
            .map_init(GroupBuffer::default, |buffer, chunk| {
                match self.read_chunk(chunk, buffer, |_| ()) {
                    Err(error @ TraceError::Damaged { .. }) => Ok(Some(error.to_string())),
                    other => other.map(|()| None),
                }
            })
            .collect::<Result<_>>()?;
        problems.extend(damages.into_iter().flatten());
        Ok(problems)
    }

    fn launch_of(&self, chunk: &ChunkRef) -> Result<&Launch> {
        self.launch(chunk.stream, chunk.launch)
            .ok_or_else(|| TraceError::Damaged {
                path: self.folder.join(EVENTS_FILE),
                offset: 0,
                reason: format!(
                    "stream {} has accesses of launch {}, which no event announces",
                    chunk.stream, chunk.launch
                ),
            })
    }
}
