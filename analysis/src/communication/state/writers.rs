//! The threads that store to each byte of a page in the current launch, used to classify loads in the same launch.

use super::local::Local;
use super::shadow::{PAGE_BYTES, Page, Tag, cells};
use super::unwritten::lanes;
use crate::communication::input::record::Record;
use std::collections::BTreeMap;

/// No writer. Other values hold the CTA number in the upper half and the thread number plus one in the lower half.
const NONE: u64 = 0;
const MULTIPLE_CTAS: u64 = u64::MAX;
/// Lower half for multiple threads of one CTA.
const MULTIPLE_THREADS: u64 = u32::MAX as u64;

/// Bit set in [`Writers::phases`] if the CTA stores in the phase itself, not only in an earlier one.
const THIS_PHASE: u32 = 1 << 31;
/// Values for no CTA and for multiple CTAs in [`Writers::phases`]. Other values are the CTA number plus one.
const NO_CTA: u32 = 0;
const MULTIPLE: u32 = THIS_PHASE - 1;

pub(crate) fn writer_id(cta: u32, thread: u32) -> u64 {
    u64::from(cta) << 32 | (u64::from(thread) + 1)
}

pub(crate) struct Writers {
    /// Binary logarithm of a cell's size in bytes, set before any writer is added. All stores fill whole cells.
    pub(crate) shift: u32,
    /// Threads that store to each cell.
    threads: Box<[u64; PAGE_BYTES]>,
    is_empty: bool,
    /// If there are grid barriers, the CTAs that store to each cell, by phase. Phases without stores are absent.
    phases: BTreeMap<u16, Box<[u32; PAGE_BYTES]>>,
}

impl Writers {
    pub(crate) fn new() -> Self {
        Self {
            shift: 0,
            threads: Box::new([NONE; PAGE_BYTES]),
            is_empty: true,
            phases: BTreeMap::new(),
        }
    }

    /// Adds the stores and atomics among `records`, by phase if the launch `has_phases`.
    pub(crate) fn add(&mut self, records: &[Record], has_phases: bool) {
        for record in records.iter().filter(|record| record.writes()) {
            self.is_empty = false;
            if has_phases {
                let ctas = (self.phases.entry(record.phase()))
                    .or_insert_with(|| Box::new([NO_CTA; PAGE_BYTES]));
                let me = THIS_PHASE | (record.cta + 1);
                for cta in &mut ctas[cells(self.shift, record.offset(), record.extent())] {
                    let is_mine = *cta == NO_CTA || *cta == me;
                    *cta = if is_mine { me } else { THIS_PHASE | MULTIPLE };
                }
            }
            for (thread, at) in lanes(record) {
                let me = writer_id(record.cta, thread);
                for writer in &mut self.threads[cells(self.shift, at, record.width())] {
                    *writer = match *writer {
                        NONE => me,
                        other if other == me => me,
                        other if other >> 32 == me >> 32 => me | MULTIPLE_THREADS,
                        _ => MULTIPLE_CTAS,
                    };
                }
            }
        }
    }

    /// Fills in the last writers from earlier phases for cells that are not stored to in a phase.
    pub(crate) fn carry_forward(&mut self) {
        let mut phases = self.phases.values_mut();
        let Some(mut previous) = phases.next() else {
            return;
        };
        for ctas in phases {
            for (cta, previous) in ctas.iter_mut().zip(previous.iter()) {
                if *cta == NO_CTA {
                    *cta = previous & !THIS_PHASE;
                }
            }
            previous = ctas;
        }
    }

    /// Returns the writers if there are any.
    #[inline]
    pub(crate) fn if_any(&self) -> Option<&Self> {
        (!self.is_empty).then_some(self)
    }

    /// Returns how many of the record's loaded bytes another CTA may have stored most recently, counting each lane's
    /// bytes. `local` contains the CTA's earlier stores.
    #[inline]
    pub(crate) fn loaded_from_other_ctas(&self, record: &Record, local: Option<&Local>) -> u64 {
        if !self.phases.is_empty() {
            return self.loaded_in_phase(record, local);
        }
        let (start, len) = (record.offset(), record.extent());
        let cta = u64::from(record.cta);
        let is_other = |writer: u64| writer != NONE && writer >> 32 != cta;
        let bytes = match self.is_filled(start | len) {
            true => {
                let writers = &self.threads[cells(self.shift, start, len)];
                (writers.iter().filter(|&&writer| is_other(writer)).count()) << self.shift
            }
            false => (start..start + len)
                .filter(|byte| is_other(self.threads[byte >> self.shift]))
                .count(),
        };
        record.accesses() * bytes as u64
    }

    /// Like [`Self::loaded_from_other_ctas`], but in a launch with grid barriers.
    fn loaded_in_phase(&self, record: &Record, local: Option<&Local>) -> u64 {
        let phase = record.phase();
        let mut latest = self.phases.range(..=phase).rev().map(|(_, ctas)| ctas);
        let (last, previous) = (latest.next(), latest.next());
        let is_other = |cta: u32| ![NO_CTA, record.cta + 1].contains(&(cta & !THIS_PHASE));
        let has_stores = self.phases.contains_key(&phase);
        let cell = |byte: usize| byte >> self.shift;
        let counts = |thread, byte: usize| match last.map_or(NO_CTA, |ctas| ctas[cell(byte)]) {
            // Only this CTA stores to the byte in this phase, perhaps after the load.
            cta if has_stores && cta & THIS_PHASE != 0 && !is_other(cta) => {
                !local.is_some_and(|local| local.wrote_in(phase, byte, thread))
                    && previous.is_some_and(|ctas| is_other(ctas[cell(byte)]))
            }
            cta => is_other(cta),
        };
        let bytes = lanes(record).flat_map(|(thread, at)| {
            (at..at + record.width()).filter(move |&byte| counts(thread, byte))
        });
        record.times() * bytes.count() as u64
    }

    /// Returns whether an access whose offset and size are ORed into `bounds` fills whole cells.
    #[inline]
    fn is_filled(&self, bounds: usize) -> bool {
        bounds & ((1 << self.shift) - 1) == 0
    }

    /// Returns how many of the record's bytes, counted per lane, were unwritten before the launch and are stored by a
    /// thread other than the one that loads them, if the loading thread has not stored them earlier itself.
    pub(crate) fn unordered(&self, record: &Record, local: Option<&Local>, page: &Page) -> u64 {
        let (start, len) = (record.offset(), record.extent());
        let is_unwritten = page.common_tag(start, len) == Some(Tag::UNWRITTEN);
        if let (true, Some(thread)) = (is_unwritten, record.only_thread())
            && self.is_filled(start | len)
            && !local.is_some_and(|local| local.wrote_any(start, len, thread))
        {
            let me = writer_id(record.cta, thread);
            let writers = self.threads[cells(self.shift, start, len)].iter();
            let others = writers.filter(|&&writer| writer != NONE && writer != me);
            return record.times() * (others.count() << self.shift) as u64;
        }
        let (width, shift) = (record.width(), self.shift.min(page.shift));
        let is_filled = (start | width) & ((1 << shift) - 1) == 0;
        let step = if is_filled { 1 << shift } else { 1 };
        let mut count = 0;
        for (thread, at) in lanes(record) {
            let me = writer_id(record.cta, thread);
            for byte in (at..at + width).step_by(step) {
                let writer = self.threads[byte >> self.shift];
                let is_unordered = writer != NONE
                    && writer != me
                    && (is_unwritten || page.tag(byte) == Tag::UNWRITTEN)
                    && !local.is_some_and(|local| local.wrote(byte, thread));
                count += u64::from(is_unordered);
            }
        }
        record.times() * count * step as u64
    }

    pub(crate) fn clear(&mut self) {
        if !self.is_empty {
            self.threads[..PAGE_BYTES >> self.shift].fill(NONE);
            self.is_empty = true;
            self.phases.clear();
        }
    }
}
