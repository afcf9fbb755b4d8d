//! The CTAs that store each byte of a page in the current launch, for loads of the same launch.

use super::shadow::PAGE_BYTES;
use crate::communication::input::record::{Pattern, Record};

/// No CTA number is that large: they fit in 31 bits.
const NONE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

pub(crate) struct Writers {
    by: Box<[u32; PAGE_BYTES]>,
    is_empty: bool,
}

impl Writers {
    pub(crate) fn new() -> Self {
        Self {
            by: Box::new([NONE; PAGE_BYTES]),
            is_empty: true,
        }
    }

    /// Adds the stores and atomics among `records`.
    pub(crate) fn add(&mut self, records: &[Record]) {
        for record in records.iter().filter(|record| record.writes()) {
            self.is_empty = false;
            let start = record.offset();
            for by in &mut self.by[start..start + record.extent()] {
                let is_first = *by == NONE || *by == record.cta;
                *by = if is_first { record.cta } else { SEVERAL };
            }
        }
    }

    /// The writers, if there are any.
    #[inline]
    pub(crate) fn any(&self) -> Option<&Self> {
        (!self.is_empty).then_some(self)
    }

    /// Bytes of the range that a CTA other than `cta` stores.
    #[inline]
    pub(crate) fn others(&self, offset: usize, len: usize, cta: u32) -> u64 {
        let by = self.by[offset..offset + len].iter();
        by.filter(|&&by| by != NONE && by != cta).count() as u64
    }

    /// Loaded bytes of the record that a CTA other than its own stores.
    #[inline]
    pub(crate) fn loaded_from_others(&self, record: &Record) -> u64 {
        let times = match record.pattern() {
            Pattern::Contiguous | Pattern::Piece => 1,
            Pattern::Same => record.lanes() as u64,
        };
        times * self.others(record.offset(), record.extent(), record.cta)
    }

    pub(crate) fn clear(&mut self) {
        if !self.is_empty {
            self.by.fill(NONE);
            self.is_empty = true;
        }
    }
}
