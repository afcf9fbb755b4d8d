//! The threads that store each byte of a page in the current launch, for loads in the same launch.

use super::shadow::PAGE_BYTES;
use super::unwritten::lanes;
use crate::communication::input::record::{Pattern, Record};

/// No writer. Other values have the CTA in the upper half and the thread plus one in the lower.
const NONE: u64 = 0;
const SEVERAL_CTAS: u64 = u64::MAX;
/// Lower half for several threads of one CTA.
const SEVERAL_THREADS: u64 = u32::MAX as u64;

fn writer(cta: u32, thread: u32) -> u64 {
    u64::from(cta) << 32 | (u64::from(thread) + 1)
}

pub(crate) struct Writers {
    by: Box<[u64; PAGE_BYTES]>,
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
            for (thread, at) in lanes(record) {
                let me = writer(record.cta, thread);
                for by in &mut self.by[at..at + record.width()] {
                    *by = match *by {
                        NONE => me,
                        other if other == me => me,
                        other if other >> 32 == me >> 32 => me | SEVERAL_THREADS,
                        _ => SEVERAL_CTAS,
                    };
                }
            }
        }
    }

    /// Returns the writers if there are any.
    #[inline]
    pub(crate) fn any(&self) -> Option<&Self> {
        (!self.is_empty).then_some(self)
    }

    /// Returns how many of the record's loaded bytes another CTA stores; each lane's bytes count.
    #[inline]
    pub(crate) fn loaded_from_other_ctas(&self, record: &Record) -> u64 {
        let times = match record.pattern() {
            Pattern::Contiguous | Pattern::Piece => 1,
            Pattern::Same => record.lanes() as u64,
        };
        let start = record.offset();
        let by = self.by[start..start + record.extent()].iter();
        let cta = u64::from(record.cta);
        times * by.filter(|&&by| by != NONE && by >> 32 != cta).count() as u64
    }

    #[inline]
    pub(crate) fn is_of_another_thread(&self, byte: usize, cta: u32, thread: u32) -> bool {
        ![NONE, writer(cta, thread)].contains(&self.by[byte])
    }

    pub(crate) fn clear(&mut self) {
        if !self.is_empty {
            self.by.fill(NONE);
            self.is_empty = true;
        }
    }
}
