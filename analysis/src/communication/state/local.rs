//! Bytes that each thread of the current CTA wrote in the current page in this launch.

use super::bitmap::Bitmap;
use super::shadow::PAGE_BYTES;
use crate::communication::input::record::{Pattern, Record};
use rustc_hash::FxHashSet;

pub(crate) struct Local {
    written: Bitmap,
    /// First thread that wrote each byte in `written`.
    first: Box<[u32; PAGE_BYTES]>,
    more: FxHashSet<(u16, u32)>,
}

impl Local {
    pub(crate) fn new() -> Self {
        Self {
            written: Bitmap::new(),
            first: Box::new([0; PAGE_BYTES]),
            more: FxHashSet::default(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.written.clear();
        if !self.more.is_empty() {
            self.more.clear();
        }
    }

    pub(crate) fn write(&mut self, record: &Record) {
        let width = record.width();
        let mut at = record.offset();
        for thread in record.threads() {
            let (first, more) = (&mut self.first, &mut self.more);
            self.written.insert(at, width, |word, mut bits| {
                while bits != 0 {
                    first[word * 64 + bits.trailing_zeros() as usize] = thread;
                    bits &= bits - 1;
                }
            });
            for byte in at..at + width {
                if first[byte] != thread {
                    more.insert((byte as u16, thread));
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
                || !self.more.is_empty() && self.more.contains(&(offset as u16, thread)))
    }

    #[inline]
    pub(crate) fn any(&self, offset: usize, len: usize, thread: u32) -> bool {
        self.written.count(offset, len) != 0
            && (offset..offset + len).any(|byte| self.wrote(byte, thread))
    }

    #[inline]
    pub(crate) fn is_untouched(&self, offset: usize, len: usize) -> bool {
        self.written.count(offset, len) == 0
    }
}
