//! Bytes of the current page that each thread of the current CTA wrote in this launch.

use super::bitmap::Bitmap;
use super::shadow::PAGE_BYTES;
use crate::communication::input::record::{Pattern, Record};
use rustc_hash::FxHashMap;

pub(crate) struct Local {
    written: Bitmap,
    /// First thread to write each byte in `written`.
    first: Box<[u32; PAGE_BYTES]>,
    /// Bytes written by other threads, with the phase of each thread's last write.
    others: FxHashMap<(u16, u32), u16>,
    /// Phase of the first thread's last write to each byte.
    phases: Box<[u16; PAGE_BYTES]>,
    has_phases: bool,
}

impl Local {
    pub(crate) fn new() -> Self {
        Self {
            written: Bitmap::new(),
            first: Box::new([0; PAGE_BYTES]),
            others: FxHashMap::default(),
            phases: Box::new([0; PAGE_BYTES]),
            has_phases: false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.written.clear();
        if !self.others.is_empty() {
            self.others.clear();
        }
        if self.has_phases {
            self.phases.fill(0);
            self.has_phases = false;
        }
    }

    pub(crate) fn write(&mut self, record: &Record) {
        let width = record.width();
        let (mut at, phase) = (record.offset(), record.phase());
        self.has_phases |= phase > 0;
        for thread in record.threads() {
            let (first, others) = (&mut self.first, &mut self.others);
            self.written.insert(at, width, |word, mut bits| {
                while bits != 0 {
                    first[word * 64 + bits.trailing_zeros() as usize] = thread;
                    bits &= bits - 1;
                }
            });
            for byte in at..at + width {
                if first[byte] != thread {
                    others.insert((byte as u16, thread), phase);
                } else if phase > 0 {
                    self.phases[byte] = phase;
                }
            }
            if record.pattern() == Pattern::Contiguous {
                at += width;
            }
        }
    }

    #[inline]
    pub(crate) fn wrote(&self, offset: usize, thread: u32) -> bool {
        self.written.count(offset, 1) == 1
            && (self.first[offset] == thread
                || !self.others.is_empty() && self.others.contains_key(&(offset as u16, thread)))
    }

    /// Returns whether a thread wrote a byte in this phase. Writes in later phases must not have been recorded yet.
    pub(crate) fn wrote_in(&self, phase: u16, offset: usize, thread: u32) -> bool {
        let last = match self.first[offset] == thread {
            true => self.phases[offset],
            false => (self.others.get(&(offset as u16, thread))).map_or(u16::MAX, |&phase| phase),
        };
        self.written.count(offset, 1) == 1 && last == phase
    }

    /// Returns whether a thread was the first of its CTA to write each of the bytes.
    #[inline]
    pub(crate) fn was_first(&self, offset: usize, len: usize, thread: u32) -> bool {
        self.written.count(offset, len) == len as u64
            && self.first[offset..offset + len]
                .iter()
                .all(|&first| first == thread)
    }

    #[inline]
    pub(crate) fn wrote_any(&self, offset: usize, len: usize, thread: u32) -> bool {
        self.written.count(offset, len) != 0
            && (offset..offset + len).any(|byte| self.wrote(byte, thread))
    }

    #[inline]
    pub(crate) fn is_untouched(&self, offset: usize, len: usize) -> bool {
        self.written.count(offset, len) == 0
    }
}
