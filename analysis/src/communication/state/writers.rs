//! The threads that store each byte of a page in the current launch, used to classify loads in the same launch.

use super::local::Local;
use super::shadow::PAGE_BYTES;
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

fn writer_id(cta: u32, thread: u32) -> u64 {
    u64::from(cta) << 32 | (u64::from(thread) + 1)
}

pub(crate) struct Writers {
    /// Threads that store each byte.
    threads: Box<[u64; PAGE_BYTES]>,
    is_empty: bool,
    /// If there are grid barriers, the CTAs that store each byte, by phase. Phases without stores are absent.
    phases: BTreeMap<u16, Box<[u32; PAGE_BYTES]>>,
}

impl Writers {
    pub(crate) fn new() -> Self {
        Self {
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
                for cta in &mut ctas[record.offset()..record.offset() + record.extent()] {
                    let is_mine = *cta == NO_CTA || *cta == me;
                    *cta = if is_mine { me } else { THIS_PHASE | MULTIPLE };
                }
            }
            for (thread, at) in lanes(record) {
                let me = writer_id(record.cta, thread);
                for writer in &mut self.threads[at..at + record.width()] {
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

    /// Fills in the last writers from earlier phases for bytes that are not stored in a phase.
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
        let start = record.offset();
        let writers = self.threads[start..start + record.extent()].iter();
        let cta = u64::from(record.cta);
        let others = writers.filter(|&&writer| writer != NONE && writer >> 32 != cta);
        record.accesses() * others.count() as u64
    }

    /// Like [`Self::loaded_from_other_ctas`], but in a launch with grid barriers.
    fn loaded_in_phase(&self, record: &Record, local: Option<&Local>) -> u64 {
        let phase = record.phase();
        let mut latest = self.phases.range(..=phase).rev().map(|(_, ctas)| ctas);
        let (last, previous) = (latest.next(), latest.next());
        let is_other = |cta: u32| ![NO_CTA, record.cta + 1].contains(&(cta & !THIS_PHASE));
        let has_stores = self.phases.contains_key(&phase);
        let counts = |thread, byte: usize| match last.map_or(NO_CTA, |ctas| ctas[byte]) {
            // Only this CTA stores the byte in this phase, perhaps after the load.
            cta if has_stores && cta & THIS_PHASE != 0 && !is_other(cta) => {
                !local.is_some_and(|local| local.wrote_in(phase, byte, thread))
                    && previous.is_some_and(|ctas| is_other(ctas[byte]))
            }
            cta => is_other(cta),
        };
        let bytes = lanes(record).flat_map(|(thread, at)| {
            (at..at + record.width()).filter(move |&byte| counts(thread, byte))
        });
        record.times() * bytes.count() as u64
    }

    #[inline]
    pub(crate) fn has_other_writer(&self, byte: usize, cta: u32, thread: u32) -> bool {
        ![NONE, writer_id(cta, thread)].contains(&self.threads[byte])
    }

    pub(crate) fn clear(&mut self) {
        if !self.is_empty {
            self.threads.fill(NONE);
            self.is_empty = true;
            self.phases.clear();
        }
    }
}
