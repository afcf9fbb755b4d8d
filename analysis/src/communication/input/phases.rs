//! Phases of a launch: the number of grid barriers that each thread has passed.

use super::record::Record;
use rustc_hash::FxHashMap;
use superstep_trace::{AccessGroup, WARP_LANES};

/// Number of marks so far, by CTA, warp and lane.
#[derive(Debug, Default)]
pub(crate) struct Phases(FxHashMap<(u32, u32), [u16; WARP_LANES]>);

impl Phases {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts a grid-barrier mark.
    pub(crate) fn pass(&mut self, mark: &AccessGroup) {
        let lanes = self.0.entry((mark.cta, mark.warp)).or_default();
        for (lane, passed) in lanes.iter_mut().enumerate() {
            *passed = passed.saturating_add((mark.mask >> lane & 1) as u16);
        }
    }

    /// Advances the phase of a record by the marks before it. Lanes that access memory together share the phase of the
    /// first lane.
    #[inline]
    pub(crate) fn advance(&self, record: &mut Record) {
        if let Some(lanes) = self.0.get(&(record.cta, record.warp())) {
            record.add_phase(lanes[record.first_lane() as usize]);
        }
    }

    /// Adds later marks.
    pub(crate) fn add(&mut self, later: &Self) {
        for (warp, more) in &later.0 {
            let lanes = self.0.entry(*warp).or_default();
            for (passed, more) in lanes.iter_mut().zip(more) {
                *passed = passed.saturating_add(*more);
            }
        }
    }
}
