//! Opens a capture: reads its events, and records what is missing or damaged.

use super::replay::{Timeline, recorded_accesses};
use super::{Capture, ChunkRef};
use crate::capture::writer::{EVENTS_FILE, stream_file_name};
use crate::container::{ChunkInfo, ChunkReader, Kind, Problem, Role};
use crate::error::{Result, TraceError};
use crate::in_situ::parts;
use crate::program::event::TimedEvent;
use crate::{Event, Header, LaunchId, ModuleTable, Parts, SiteTable, StreamId, captures_in};
use std::path::{Path, PathBuf};

impl Capture {
    /// Opens the stream files; returns whether all of them are complete.
    pub(super) fn open_streams(&mut self) -> Result<bool> {
        let mut ended = true;
        for id in stream_files(&self.folder)? {
            let path = self.folder.join(stream_file_name(id));
            let reader = match ChunkReader::open(&path, Role::Stream) {
                Ok(reader) if reader.stream == id.0 => reader,
                Ok(reader) => {
                    let (path, stream) = (path.display(), reader.stream);
                    self.damage(format!("{path} claims to belong to stream {stream}"));
                    continue;
                }
                Err(error @ (TraceError::Damaged { .. } | TraceError::FormatVersion { .. })) => {
                    self.damage(error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            };
            let last = reader.chunks.last();
            let stream_ended = last.is_some_and(|chunk| chunk.kind == Kind::END);
            if self.outcome.is_some() && !stream_ended && reader.problem.is_none() {
                self.problems
                    .push(format!("{} ends early: chunks are missing", path.display()));
            }
            ended &= stream_ended;
            self.record_problem(&reader);
            self.assign_chunks(id, &reader);
            self.streams.insert(id, reader);
        }
        Ok(ended)
    }

    pub(super) fn damage(&mut self, problem: String) {
        self.damaged = true;
        self.problems.push(problem);
    }

    fn record_problem(&mut self, file: &ChunkReader) {
        let path = &file.path;
        match &file.problem {
            None => {}
            Some(Problem::CutOff { offset }) => self.problems.push(format!(
                "{} is cut off in the chunk at byte {offset}; everything before it is kept",
                path.display()
            )),
            Some(Problem::Damaged { offset, reason }) => {
                let error = TraceError::damaged(path, *offset, reason);
                self.damage(format!("{error}; everything before it is kept"));
            }
        }
    }

    fn add_chunk(
        &mut self,
        events: &mut Vec<TimedEvent<Event>>,
        parts: &mut Vec<Parts>,
        (file, chunk): (&ChunkReader, &ChunkInfo),
        payload: &[u8],
    ) -> Result<()> {
        match chunk.kind {
            Kind::MODULE => {
                let module = ModuleTable::from_json(payload);
                let module = module.map_err(|error| file.damaged(chunk, error.to_string()))?;
                self.modules.push(module);
            }
            Kind::EVENT => events.push(file.json(chunk, payload, "event")?),
            Kind::PARTS => {
                let malformed = || file.damaged(chunk, "the parts are malformed");
                parts.push(parts::decode(payload).ok_or_else(malformed)?);
            }
            Kind::END => self.outcome = Some(file.json(chunk, payload, "outcome")?),
            // Later versions may add kinds that older readers can ignore.
            _ => {}
        }
        Ok(())
    }

    /// Assigns a stream's chunks to their launches, and skips those of launches that no event announces.
    fn assign_chunks(&mut self, stream: StreamId, reader: &ChunkReader) {
        let mut unknown = 0;
        for (index, chunk) in reader.chunks.iter().enumerate() {
            if chunk.kind != Kind::ACCESSES {
                continue;
            }
            let launch = LaunchId(chunk.tag);
            match self.timeline.launch_mut(stream, launch) {
                Some(stored) => stored.chunks.push(ChunkRef {
                    stream,
                    launch,
                    thread_accesses: chunk.items,
                    index,
                }),
                None => unknown += 1,
            }
        }
        if unknown > 0 {
            self.problems.push(format!(
                "{}: {unknown} chunks belong to launches that no event announces, and are skipped",
                reader.path.display()
            ));
        }
    }

    /// Compares the access counts in the launches' end events with those in their chunks.
    pub(super) fn check_launches(&mut self) {
        for record in &self.timeline.launches {
            let Some(end) = &record.end else { continue };
            let found = recorded_accesses(record.sums.as_ref(), &record.chunks);
            if found != end.thread_accesses {
                let path = self.folder.join(stream_file_name(end.stream));
                self.problems.push(format!(
                    "{}: launch {} performed {} thread accesses, but the file has {found}",
                    path.display(),
                    end.launch,
                    end.thread_accesses
                ));
            }
        }
    }
}

pub(super) fn capture_folder(path: &Path) -> Result<PathBuf> {
    let not_a_capture = |reason: &str| TraceError::NotACapture {
        path: path.to_owned(),
        reason: reason.to_owned(),
    };
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => not_a_capture("there is no such file or folder"),
        _ => TraceError::unreadable(path)(error),
    })?;
    let folder = match path.parent() {
        _ if metadata.is_dir() => path.to_owned(),
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    if folder.join(EVENTS_FILE).is_file() {
        return Ok(folder);
    }
    match &captures_in(&folder)?[..] {
        [] => Err(not_a_capture(
            "it is not a capture: there is no events.sst; pass the folder that a traced run wrote",
        )),
        [capture] => Ok(capture.clone()),
        captures => Err(TraceError::MultipleCaptures {
            path: path.to_owned(),
            captures: (captures.iter())
                .map(|capture| capture.strip_prefix(&folder).unwrap_or(capture))
                .map(|capture| capture.display().to_string())
                .collect(),
        }),
    }
}

pub(super) fn read_events(folder: PathBuf, file: &ChunkReader) -> Result<Capture> {
    let (mut stored, mut raw) = (Vec::new(), Vec::new());
    let header: Header = match file.chunks.first() {
        Some(chunk) if chunk.kind == Kind::HEADER => {
            file.payload(chunk, &mut stored, &mut raw)?;
            file.json(chunk, &raw, "header")?
        }
        _ => {
            let reason = match &file.problem {
                Some(Problem::Damaged { reason, .. }) => reason,
                _ => "the file ends before its header chunk",
            };
            let offset = crate::container::FILE_HEADER_BYTES as u64;
            return Err(TraceError::damaged(&file.path, offset, reason));
        }
    };
    let mut capture = Capture {
        folder,
        header,
        ..Capture::default()
    };
    let (mut events, mut parts) = (Vec::new(), Vec::new());
    for chunk in &file.chunks[1..] {
        let read = file.payload(chunk, &mut stored, &mut raw);
        let read =
            read.and_then(|()| capture.add_chunk(&mut events, &mut parts, (file, chunk), &raw));
        match read {
            Ok(()) => {}
            Err(error @ TraceError::Damaged { .. }) => {
                capture.damage(error.to_string());
                break;
            }
            Err(error) => return Err(error),
        }
    }
    capture.record_problem(file);
    capture.timeline = Timeline::new(events, parts, &mut capture.problems);
    capture.sites = SiteTable::new(&capture.modules);
    Ok(capture)
}

pub(crate) fn stream_files(folder: &Path) -> Result<Vec<StreamId>> {
    let mut ids = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(TraceError::unreadable(folder))? {
        let name = entry.map_err(TraceError::unreadable(folder))?.file_name();
        let number = (name.to_str())
            .and_then(|name| name.strip_prefix("stream-")?.strip_suffix(".sst"))
            .and_then(|number| number.parse().ok());
        ids.extend(number.map(StreamId));
    }
    ids.sort_unstable();
    Ok(ids)
}
