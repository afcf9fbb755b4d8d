//! Memory for the log entries of a worker's threads.
//!
//! A loop runs its threads in turn, so the logs of a warp's lanes are consecutive in one buffer ([`WarpLog`]). The
//! fibers of a CTA alternate, so each thread has its own segment, which grows on demand ([`CtaLogs`]).

use crate::mapping::Mapping;
use crate::record::merge::{LANES, LogEntry};
use std::cell::Cell;
use std::io::Error;
use std::ptr::null_mut;

const ENTRY_BYTES: usize = size_of::<LogEntry>();
/// Maximum number of entries per thread before its warp is merged.
pub const MAX_THREAD_ENTRIES: usize = 1 << 20;
/// Number of entries in a worker's buffer, which uses memory only as it fills. When the buffer is full, lanes are
/// grouped only with lanes that have made equal progress.
const BUFFER_ENTRIES: usize = 32 << 20;
/// Number of entries in a thread's first segment for a new kernel.
const FIRST_SEGMENT_ENTRIES: usize = 32;

#[derive(Debug)]
struct Buffer(Mapping);

impl Buffer {
    fn new(entries: usize) -> Result<Self, Error> {
        Mapping::new(entries * ENTRY_BYTES).map(Buffer)
    }

    /// Returns the address of entry `index`, limited to one past the last.
    fn at(&self, index: usize) -> *mut u64 {
        let index = index.min(self.0.bytes() / ENTRY_BYTES);
        // SAFETY: the index was limited to the mapping.
        unsafe { self.0.base().add(index * ENTRY_BYTES).cast() }
    }

    fn index_of(&self, cursor: *mut u64) -> usize {
        (cursor as usize).saturating_sub(self.0.base() as usize) / ENTRY_BYTES
    }

    fn entries(&self, first: usize, last: usize) -> &[LogEntry] {
        let last = last.min(self.0.bytes() / ENTRY_BYTES);
        let first = first.min(last);
        // SAFETY: the range is inside the mapping, entries are plain data, and only the calling scheduler's fibers
        // write.
        unsafe { std::slice::from_raw_parts(self.at(first).cast(), last - first) }
    }
}

/// Log of a warp whose lanes run in turn. Loops record where each lane's entries start.
#[derive(Debug)]
pub struct WarpLog {
    buffer: Buffer,
    /// First entry of each lane; null for lanes that did not run.
    starts: Box<[Cell<*mut u64>; LANES]>,
}

impl WarpLog {
    pub fn new() -> Result<Self, Error> {
        Ok(WarpLog {
            buffer: Buffer::new(BUFFER_ENTRIES)?,
            starts: Box::new([const { Cell::new(null_mut()) }; LANES]),
        })
    }

    pub fn begin(&mut self, lane: usize, cursor: *mut u64) {
        self.starts[lane % LANES].set(cursor);
    }

    /// Returns the array in which a loop stores the lanes' first entries.
    pub fn starts(&self) -> *mut u64 {
        self.starts.as_ptr().cast_mut().cast()
    }

    /// Empties the log; returns its cursor and end. Later entries belong to `lane`.
    pub fn open(&mut self, lane: Option<usize>) -> (*mut u64, *mut u64) {
        let first = self.buffer.at(0);
        self.starts.iter().for_each(|start| start.set(null_mut()));
        if let Some(lane) = lane {
            self.begin(lane, first);
        }
        (first, self.buffer.at(usize::MAX))
    }

    /// Returns the lanes' entries up to `cursor`.
    pub fn lanes(&self, cursor: *mut u64) -> [&[LogEntry]; LANES] {
        let mut lanes: [&[LogEntry]; LANES] = [&[]; LANES];
        let mut end = self.buffer.index_of(cursor);
        for (lane, entries) in lanes.iter_mut().enumerate().rev() {
            let start = self.starts[lane].get();
            if !start.is_null() {
                let first = self.buffer.index_of(start).min(end);
                *entries = self.buffer.entries(first, end);
                end = first;
            }
        }
        lanes
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    first: usize,
    used: usize,
    capacity: usize,
}

#[derive(Debug)]
pub struct CtaLogs {
    buffer: Buffer,
    segments: Vec<Segment>,
    /// First free entry.
    next: usize,
    /// Capacity of a thread's first segment, based on earlier CTAs of the kernel.
    first_capacity: usize,
}

impl CtaLogs {
    pub fn new() -> Result<Self, Error> {
        Ok(CtaLogs {
            buffer: Buffer::new(BUFFER_ENTRIES)?,
            segments: Vec::new(),
            next: 0,
            first_capacity: FIRST_SEGMENT_ENTRIES,
        })
    }

    pub fn forget(&mut self) {
        self.first_capacity = FIRST_SEGMENT_ENTRIES;
    }

    /// Starts a CTA with `threads` empty logs.
    pub fn reset(&mut self, threads: usize) {
        let max_capacity = BUFFER_ENTRIES / threads.max(1);
        let capacity = self.first_capacity.min(max_capacity).max(1);
        self.first_capacity = capacity;
        self.segments.clear();
        self.segments.extend((0..threads).map(|thread| Segment {
            first: thread * capacity,
            used: 0,
            capacity,
        }));
        self.next = threads * capacity;
    }

    /// Returns a thread's cursor and end.
    pub fn open(&self, thread: usize) -> (*mut u64, *mut u64) {
        let segment = self.segments[thread];
        (
            self.buffer.at(segment.first + segment.used),
            self.buffer.at(segment.first + segment.capacity),
        )
    }

    pub fn close(&mut self, thread: usize, cursor: *mut u64) {
        let segment = &mut self.segments[thread];
        let used = self.buffer.index_of(cursor).saturating_sub(segment.first);
        segment.used = used.min(segment.capacity);
    }

    /// Enlarges a thread's segment; returns `false` if there is no room and its warp must be merged.
    pub fn grow(&mut self, thread: usize) -> bool {
        let old = self.segments[thread];
        let capacity = old.capacity * 2;
        if capacity > MAX_THREAD_ENTRIES || self.next + capacity > BUFFER_ENTRIES {
            return false;
        }
        let new = Segment {
            first: self.next,
            used: old.used,
            capacity,
        };
        let source = self.buffer.at(old.first).cast::<LogEntry>();
        // SAFETY: both segments are inside the buffer and do not overlap: the new one starts after all others.
        unsafe { source.copy_to_nonoverlapping(self.buffer.at(new.first).cast(), old.used) };
        self.next += capacity;
        self.first_capacity = self.first_capacity.max(capacity);
        self.segments[thread] = new;
        true
    }

    pub fn lanes(&self, warp: usize) -> [&[LogEntry]; LANES] {
        std::array::from_fn(|lane| match self.segments.get(warp * LANES + lane) {
            Some(segment) => self
                .buffer
                .entries(segment.first, segment.first + segment.used),
            None => &[],
        })
    }

    pub fn has_entries(&self, warp: usize) -> bool {
        let mut segments = self.segments.iter().skip(warp * LANES).take(LANES);
        segments.any(|segment| segment.used > 0)
    }

    pub fn clear(&mut self, warp: usize) {
        let segments = self.segments.iter_mut().skip(warp * LANES).take(LANES);
        segments.for_each(|segment| segment.used = 0);
    }
}

#[cfg(test)]
mod tests;
