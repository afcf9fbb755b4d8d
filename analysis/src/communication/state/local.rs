//! Bytes of the current page that each thread of the current CTA wrote in this launch.

use super::bitmap::Bitmap;
use super::shadow::{PAGE_BYTES, cells};
use crate::communication::input::record::{Pattern, Record};
use rustc_hash::FxHashMap;

pub(crate) struct Local {
    /// Binary logarithm of a cell's size in bytes, set before any write is recorded. All writes fill whole cells.
    pub(crate) shift: u32,
    /// Cells that have been written.
    written: Bitmap,
    /// First thread to write each cell in `written`.
    first: Box<[u32; PAGE_BYTES]>,
    /// Cells written by other threads, with the phase of each thread's last write.
    others: FxHashMap<(u16, u32), u16>,
    /// Phase of the first thread's last write to each cell.
    phases: Box<[u16; PAGE_BYTES]>,
    has_phases: bool,
}

impl Local {
    pub(crate) fn new() -> Self {
        Self {
            shift: 0,
            written: Bitmap::new(),
            first: Box::new([0; PAGE_BYTES]),
            others: FxHashMap::default(),
            phases: Box::new([0; PAGE_BYTES]),
            has_phases: false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.written.clear();
        self.others.clear();
        if self.has_phases {
            self.phases.fill(0);
            self.has_phases = false;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    pub(crate) fn write(&mut self, record: &Record) {
        let width = record.width() >> self.shift;
        let (mut at, phase) = (record.offset() >> self.shift, record.phase());
        self.has_phases |= phase > 0;
        for thread in record.threads() {
            let (first, others) = (&mut self.first, &mut self.others);
            self.written.insert(at, width, |word, mut bits| {
                while bits != 0 {
                    first[word * 64 + bits.trailing_zeros() as usize] = thread;
                    bits &= bits - 1;
                }
            });
            for cell in at..at + width {
                if first[cell] != thread {
                    others.insert((cell as u16, thread), phase);
                } else if phase > 0 {
                    self.phases[cell] = phase;
                }
            }
            if record.pattern() == Pattern::Contiguous {
                at += width;
            }
        }
    }

    /// Returns whether a thread wrote the byte at `offset`.
    #[inline]
    pub(crate) fn wrote(&self, offset: usize, thread: u32) -> bool {
        self.wrote_cell(offset >> self.shift, thread)
    }

    #[inline]
    fn wrote_cell(&self, cell: usize, thread: u32) -> bool {
        self.written.contains(cell)
            && (self.first[cell] == thread
                || !self.others.is_empty() && self.others.contains_key(&(cell as u16, thread)))
    }

    /// Returns whether a thread wrote a byte in this phase. Writes in later phases must not have been recorded yet.
    pub(crate) fn wrote_in(&self, phase: u16, offset: usize, thread: u32) -> bool {
        let cell = offset >> self.shift;
        let last = match self.first[cell] == thread {
            true => self.phases[cell],
            false => (self.others.get(&(cell as u16, thread))).map_or(u16::MAX, |&phase| phase),
        };
        self.written.contains(cell) && last == phase
    }

    /// Returns whether a thread was the first of its CTA to write each of the bytes.
    #[inline]
    pub(crate) fn was_first(&self, offset: usize, len: usize, thread: u32) -> bool {
        let cells = cells(self.shift, offset, len);
        self.written.contains_all(cells.start, cells.len())
            && self.first[cells].iter().all(|&first| first == thread)
    }

    #[inline]
    pub(crate) fn wrote_any(&self, offset: usize, len: usize, thread: u32) -> bool {
        let mut cells = cells(self.shift, offset, len);
        self.written.contains_any(cells.start, cells.len())
            && cells.any(|cell| self.wrote_cell(cell, thread))
    }

    #[inline]
    pub(crate) fn is_untouched(&self, offset: usize, len: usize) -> bool {
        let cells = cells(self.shift, offset, len);
        !self.written.contains_any(cells.start, cells.len())
    }
}
