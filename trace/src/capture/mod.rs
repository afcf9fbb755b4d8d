//! Reads a capture folder.

pub(crate) mod builder;
pub mod digest;
pub(crate) mod header;
pub(crate) mod names;
mod open;
mod replay;
pub(crate) mod writer;

use crate::capture::writer::EVENTS_FILE;
use crate::codec::Decoder;
use crate::container::{ChunkReader, MAX_CHUNK_ACCESSES, Role};
use crate::error::{Result, TraceError};
use crate::{
    AccessGroup, Cancellation, Header, LaunchId, ModuleTable, Outcome, Progress, SiteTable,
    StreamId,
};
pub(crate) use open::stream_files;
use rayon::prelude::*;
use replay::Timeline;
pub use replay::{HostEvent, LaunchRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// An open capture. Accesses are read on demand; everything else is in memory.
///
/// If the program was killed, or files are truncated or damaged, the readable part is opened; `complete`
/// is then false, and `problems` lists what is missing.
#[derive(Debug, Default)]
pub struct Capture {
    folder: PathBuf,
    pub header: Header,
    /// Static tables, one for each translation unit that registered.
    pub modules: Vec<ModuleTable>,
    /// How the program ended; `None` if the capture does not say.
    pub outcome: Option<Outcome>,
    /// Whether every file ends properly and nothing is missing.
    pub complete: bool,
    /// Whether bytes were changed or files are missing, which cannot be the result of killing the program.
    pub damaged: bool,
    /// Missing or damaged parts, one sentence each, with file and offset.
    pub problems: Vec<String>,
    /// Cancels the reading of accesses.
    pub cancellation: Cancellation,
    pub progress: Progress,
    sites: SiteTable,
    streams: BTreeMap<StreamId, ChunkReader>,
    timeline: Timeline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    pub stream: StreamId,
    pub launch: LaunchId,
    /// Accesses in the chunk, counting each lane.
    pub thread_accesses: u64,
    index: usize,
}

#[derive(Default)]
pub struct GroupBuffer {
    stored: Vec<u8>,
    raw: Vec<u8>,
    decoder: Decoder,
}

impl Capture {
    /// Opens the capture at `path`, a folder or a file in it. Fails with [`TraceError::NotACapture`] if there is none,
    /// [`TraceError::FormatVersion`] if its version differs, and [`TraceError::Damaged`] if its header is unreadable.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let folder = open::capture_folder(path.as_ref())?;
        let events = ChunkReader::open(&folder.join(EVENTS_FILE), Role::Events)?;
        let mut capture = open::read_events(folder, &events)?;
        let ended = capture.outcome.is_some();
        if !ended && !capture.damaged {
            capture.problems.push(format!(
                "{} has no end chunk: the program was killed, skipped its exit handlers, or is still running",
                events.path.display()
            ));
        }
        let streams_ended = capture.open_streams()?;
        capture.check_launches();
        capture.read_names()?;
        capture.complete = ended && streams_ended && capture.problems.is_empty();
        Ok(capture)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn sites(&self) -> &SiteTable {
        &self.sites
    }

    /// Returns the streams with a launch or a file, in ascending order.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> {
        let launches = &self.timeline.launches;
        let launch_streams = launches.iter().map(|stored| stored.launch.stream);
        let all: BTreeSet<_> = self.streams.keys().copied().chain(launch_streams).collect();
        all.into_iter()
    }

    pub fn stored_bytes(&self) -> Result<u64> {
        let events = self.folder.join(EVENTS_FILE);
        let streams = self.streams.values().map(|reader| &*reader.path);
        let sizes = streams.chain([&*events]).map(|path| {
            let metadata = std::fs::metadata(path).map_err(TraceError::unreadable(path));
            metadata.map(|metadata| metadata.len())
        });
        sizes.sum()
    }

    /// Returns the stored size of all access chunks in bytes, which [`Progress::read_bytes`] reaches at the end.
    pub fn access_bytes(&self) -> u64 {
        let chunks = self.streams.values().flat_map(|reader| &reader.chunks);
        chunks.map(|info| u64::from(info.stored_bytes)).sum()
    }

    /// Passes each access group of a chunk to `visit`, in file order.
    pub fn read_chunk(
        &self,
        chunk: &ChunkRef,
        buffer: &mut GroupBuffer,
        mut visit: impl FnMut(&AccessGroup),
    ) -> Result<()> {
        self.read_marked_chunk(chunk, buffer, |group| {
            if !group.is_grid_barrier() {
                visit(group);
            }
        })
    }

    /// Like [`Self::read_chunk`], but also passes grid-barrier marks.
    pub fn read_marked_chunk(
        &self,
        chunk: &ChunkRef,
        buffer: &mut GroupBuffer,
        mut visit: impl FnMut(&AccessGroup),
    ) -> Result<()> {
        let Some((reader, info)) = (self.streams.get(&chunk.stream))
            .and_then(|reader| Some((reader, reader.chunks.get(chunk.index)?)))
        else {
            return Ok(());
        };
        self.cancellation.check()?;
        let (raw, decoder, expected) = (&mut buffer.raw, &mut buffer.decoder, info.items);
        reader.payload(info, &mut buffer.stored, raw)?;
        self.progress.count(u64::from(info.stored_bytes));
        let (mut number, mut accesses, mut marks) = (0u64, 0, 0);
        let malformed = |number| {
            let reason = format!("group {number} of the chunk is malformed");
            reader.damaged(info, reason)
        };
        let miscounted = |found| {
            let reason = format!("expected {expected} thread accesses in the chunk, found {found}");
            reader.damaged(info, reason)
        };
        decoder.begin(raw).ok_or_else(|| malformed(0))?;
        let mut group = AccessGroup::EMPTY;
        while decoder.has_more() {
            let decoded = decoder.decode(raw, &mut group);
            decoded.ok_or_else(|| malformed(number))?;
            number += 1;
            accesses += group.accesses() as u64;
            marks += u64::from(group.is_grid_barrier());
            // A damaged chunk might repeat a group endlessly.
            if marks > MAX_CHUNK_ACCESSES {
                return Err(reader.damaged(info, "the chunk has too many grid-barrier marks"));
            }
            if accesses > expected {
                return Err(miscounted(format!("at least {accesses}")));
            }
            visit(&group);
        }
        if !decoder.is_at_end(raw) {
            return Err(malformed(number));
        }
        match accesses == expected {
            true => Ok(()),
            false => Err(miscounted(accesses.to_string())),
        }
    }

    /// Passes every group to `visit`, launch by launch, in host order. The groups of one thread are in program order.
    /// Fails at the first damaged chunk, after visiting the groups before it.
    pub fn groups(&self, mut visit: impl FnMut(&LaunchRecord, &AccessGroup)) -> Result<()> {
        let mut buffer = GroupBuffer::default();
        for record in self.launches() {
            for chunk in record.chunks {
                self.read_chunk(chunk, &mut buffer, |group| visit(&record, group))?;
            }
        }
        Ok(())
    }

    /// Reads all chunks on all cores. Each task starts from `identity` and adds groups with `fold`; `reduce` merges two
    /// results and must not depend on their order.
    pub fn par_fold<T: Send>(
        &self,
        identity: impl Fn() -> T + Sync + Send,
        fold: impl Fn(&mut T, &LaunchRecord, &AccessGroup) + Sync + Send,
        reduce: impl Fn(T, T) -> T + Sync + Send,
    ) -> Result<T> {
        let records: Vec<_> = self.launches().collect();
        let chunks: Vec<_> = (records.iter())
            .flat_map(|record| record.chunks.iter().map(move |chunk| (record, chunk)))
            .collect();
        (chunks.par_iter())
            .try_fold(
                || (identity(), GroupBuffer::default()),
                |(mut sum, mut buffer), (record, chunk)| {
                    self.read_chunk(chunk, &mut buffer, |group| fold(&mut sum, record, group))?;
                    Ok((sum, buffer))
                },
            )
            .map(|result| result.map(|(sum, _)| sum))
            .try_reduce(&identity, |a, b| Ok(reduce(a, b)))
    }

    /// Reads every chunk. Returns all problems, including those found on opening.
    pub fn verify(&self) -> Result<Vec<String>> {
        let mut problems = self.problems.clone();
        let chunks: Vec<_> = (self.timeline.launches.iter())
            .flat_map(|stored| &stored.chunks)
            .collect();
        let damage: Vec<_> = chunks
            .par_iter()
            .map_init(GroupBuffer::default, |buffer, chunk| {
                match self.read_chunk(chunk, buffer, |_| ()) {
                    Err(error @ TraceError::Damaged { .. }) => Ok(Some(error.to_string())),
                    other => other.map(|()| None),
                }
            })
            .collect::<Result<_>>()?;
        problems.extend(damage.into_iter().flatten());
        Ok(problems)
    }
}
