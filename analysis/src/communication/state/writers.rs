//! The threads that store each byte of a page in the current launch, for loads in the same launch.

use super::local::Local;
use super::shadow::PAGE_BYTES;
use super::unwritten::lanes;
use crate::communication::input::record::{Pattern, Record};
use std::collections::BTreeMap;

/// No writer. Other values have the CTA in the upper half and the thread plus one in the lower.
const NONE: u64 = 0;
const SEVERAL_CTAS: u64 = u64::MAX;
/// Lower half for several threads of one CTA.
const SEVERAL_THREADS: u64 = u32::MAX as u64;

/// Bit of a CTA in [`Writers::phases`] that stores in the phase itself, and not only in an earlier one.
const NOW: u32 = 1 << 31;
/// Several CTAs in [`Writers::phases`]. Other values are the CTA plus one, or 0 for none.
const SEVERAL: u32 = NOW - 1;

fn writer(cta: u32, thread: u32) -> u64 {
    u64::from(cta) << 32 | (u64::from(thread) + 1)
}

pub(crate) struct Writers {
    by: Box<[u64; PAGE_BYTES]>,
    is_empty: bool,
    /// If there are grid barriers, the CTAs that store each byte, by phase. Phases without stores are left out.
    phases: BTreeMap<u16, Box<[u32; PAGE_BYTES]>>,
}

impl Writers {
    pub(crate) fn new() -> Self {
        Self {
            by: Box::new([NONE; PAGE_BYTES]),
            is_empty: true,
            phases: BTreeMap::new(),
        }
    }

    /// Adds the stores and atomics among `records`, by phase if the launch `has_phases`.
    pub(crate) fn add(&mut self, records: &[Record], has_phases: bool) {
        for record in records.iter().filter(|record| record.writes()) {
            self.is_empty = false;
            if has_phases {
                let by = (self.phases.entry(record.phase()))
                    .or_insert_with(|| Box::new([NONE as u32; PAGE_BYTES]));
                for by in &mut by[record.offset()..record.offset() + record.extent()] {
                    let is_other = *by != NONE as u32 && *by != ((record.cta + 1) | NOW);
                    *by = NOW | if is_other { SEVERAL } else { record.cta + 1 };
                }
            }
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

    /// Completes the phases with the last writers in earlier phases.
    pub(crate) fn carry_on(&mut self) {
        let mut phases = self.phases.values_mut();
        let Some(mut before) = phases.next() else {
            return;
        };
        for by in phases {
            for (by, before) in by.iter_mut().zip(before.iter()) {
                if *by == NONE as u32 {
                    *by = before & !NOW;
                }
            }
            before = by;
        }
    }

    /// Returns the writers if there are any.
    #[inline]
    pub(crate) fn any(&self) -> Option<&Self> {
        (!self.is_empty).then_some(self)
    }

    /// Returns how many of the record's loaded bytes another CTA may have stored last; each lane's bytes count. `local` holds
    /// what the CTA has stored before.
    #[inline]
    pub(crate) fn loaded_from_other_ctas(&self, record: &Record, local: Option<&Local>) -> u64 {
        if !self.phases.is_empty() {
            return self.loaded_in_phase(record, local);
        }
        let times = match record.pattern() {
            Pattern::Contiguous | Pattern::Piece => 1,
            Pattern::Same => record.lanes() as u64,
        };
        let start = record.offset();
        let by = self.by[start..start + record.extent()].iter();
        let cta = u64::from(record.cta);
        times * by.filter(|&&by| by != NONE && by >> 32 != cta).count() as u64
    }

    /// Like [`Self::loaded_from_other_ctas`], in a launch with grid barriers.
    fn loaded_in_phase(&self, record: &Record, local: Option<&Local>) -> u64 {
        let phase = record.phase();
        let mut latest = self.phases.range(..=phase).rev().map(|(_, by)| by);
        let (last, before) = (latest.next(), latest.next());
        let is_other = |by: u32| by & !NOW != NONE as u32 && by & !NOW != record.cta + 1;
        let is_now = self.phases.contains_key(&phase);
        let counts = |thread, byte: usize| match last.map_or(0, |by| by[byte]) {
            // Only this CTA stores the byte in this phase, perhaps after the load.
            by if is_now && by & NOW != 0 && !is_other(by) => {
                !local.is_some_and(|local| local.wrote_in(phase, byte, thread))
                    && before.is_some_and(|by| is_other(by[byte]))
            }
            by => is_other(by),
        };
        let bytes = lanes(record).flat_map(|(thread, at)| {
            (at..at + record.width()).filter(move |&byte| counts(thread, byte))
        });
        bytes.count() as u64
    }

    #[inline]
    pub(crate) fn is_of_another_thread(&self, byte: usize, cta: u32, thread: u32) -> bool {
        ![NONE, writer(cta, thread)].contains(&self.by[byte])
    }

    pub(crate) fn clear(&mut self) {
        if !self.is_empty {
            self.by.fill(NONE);
            self.is_empty = true;
            self.phases.clear();
        }
    }
}
