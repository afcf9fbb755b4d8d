//! Loads that a warp repeats, for example while it waits for another CTA: stored once, with the number of repetitions.

use super::record::Record;
use std::ops::Range;
use superstep_trace::AccessGroup;

const SLOTS: usize = 1 << 10;

/// The latest load of a warp.
#[derive(Clone, Default)]
struct Slot {
    /// The numbers of its records.
    records: Range<usize>,
    /// Number of repetitions that have no records yet.
    times: u32,
    /// The load, once it has been repeated.
    group: Option<Box<AccessGroup>>,
}

/// The latest loads of warps since their latest stores, all in the current block.
pub(crate) struct Repeats(Vec<Slot>);

impl Repeats {
    pub(crate) fn new() -> Self {
        Self(vec![Slot::default(); SLOTS])
    }

    fn slot(&mut self, cta: u32, warp: u32) -> &mut Slot {
        let number = cta.wrapping_mul(37).wrapping_add(warp);
        &mut self.0[number as usize % SLOTS]
    }

    /// Counts a load that is known to be repeated; returns false for other loads.
    #[inline]
    pub(crate) fn count(&mut self, load: &AccessGroup) -> bool {
        let slot = self.slot(load.cta, load.warp);
        let is_known = slot.group.as_deref() == Some(load) && slot.times < u32::MAX;
        slot.times += u32::from(is_known);
        is_known
    }

    /// Removes a load's records, which start at index `first`, if the warp has just made the same load.
    #[inline]
    pub(crate) fn add(&mut self, load: &AccessGroup, first: usize, records: &mut Vec<Record>) {
        let slot = self.slot(load.cta, load.warp);
        let (before, new) = records.split_at(first);
        if slot.times < u32::MAX
            && before[slot.records.clone()] == *new
            && new.iter().all(Record::is_whole)
        {
            slot.times += 1;
            slot.group = Some(Box::new(*load));
            return records.truncate(first);
        }
        let next = Slot {
            records: first..records.len(),
            ..Slot::default()
        };
        std::mem::replace(slot, next).end(records);
    }

    /// Adds the repetitions of a warp before it stores or passes a grid barrier.
    #[inline]
    pub(crate) fn end_warp(&mut self, group: &AccessGroup, records: &mut Vec<Record>) {
        std::mem::take(self.slot(group.cta, group.warp)).end(records);
    }

    /// Adds the repetitions of all warps, so that the block can end.
    pub(crate) fn end(&mut self, records: &mut Vec<Record>) {
        let slots = self.0.iter_mut();
        slots.for_each(|slot| std::mem::take(slot).end(records));
    }
}

impl Slot {
    #[inline]
    fn end(self, records: &mut Vec<Record>) {
        let mut times = self.times;
        while times != 0 {
            let power = times.trailing_zeros();
            times &= times - 1;
            for number in self.records.clone() {
                records.push(records[number].repeated(power));
            }
        }
    }
}
