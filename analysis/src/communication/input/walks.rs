//! Scattered loads whose threads each walk through memory: in each iteration of a loop, most lanes of a warp load the
//! element after or before their previous one. The loads of several iterations become one record for each lane, instead
//! of one for each load. Loads that the whole group repeats are only counted.
//!
//! As long as the warp does not store, the order of its loads does not matter (see [`super::repeats`]).

use super::phases::Phases;
use super::record::{MAX_WALK, Record, WideAccesses, cut};
use super::repeats::append;
use crate::communication::state::shadow::PAGE_BYTES;
use superstep_trace::{AccessGroup, Op, SiteId, WARP_LANES};

/// Maximum number of loads of a lane that have no record yet.
const MAX_PENDING: u16 = 8 * MAX_WALK as u16;

/// Limit that lets a walk end soon after it stops saving records, but not when all lanes begin a new row.
const MAX_SAVED: i32 = 4 * WARP_LANES as i32;

/// The latest loads of one warp at one site, which all have the same width.
#[derive(Clone)]
struct Walk {
    site: SiteId,
    cta: u32,
    warp: u32,
    width_bytes: u32,
    epoch: u64,
    /// Number of records in the block when the first of the loads without records was added.
    position: u32,
    /// Set while [`Walks::pending`] contains the slot.
    is_pending: bool,
    /// Distance between a lane's successive loads, if most lanes keep to it.
    step: Option<u64>,
    /// Number of records that the walk has saved recently, at most [`MAX_SAVED`].
    saved: i32,
    /// Lanes of the latest group, and the latest address of each lane.
    mask: u32,
    latest: [u64; WARP_LANES],
    /// Number of loads without records, by lane; they end with the latest one.
    counts: [u16; WARP_LANES],
    /// Number of repetitions of the latest group, which have no records.
    repetitions: u16,
}

impl Walk {
    fn is_of(&self, group: &AccessGroup, epoch: u64) -> bool {
        (self.epoch, self.site, self.cta) == (epoch, group.site, group.cta)
            && (self.warp, self.width_bytes) == (group.warp, group.width_bytes)
    }

    fn is_repeated_by(&self, group: &AccessGroup) -> bool {
        let all = group
            .by_lane()
            .map(|(lane, address)| address ^ self.latest[lane]);
        group.mask == self.mask && all.fold(0, |all, differences| all | differences) == 0
    }

    /// Returns the distance between the latest loads and those of `group`, if it is the same for most lanes, and each
    /// lane's load is next to its previous one.
    fn step_to(&self, group: &AccessGroup) -> Option<u64> {
        let width = u64::from(group.width_bytes);
        let distances = || {
            group
                .by_lane()
                .filter(|(lane, _)| self.mask >> lane & 1 != 0)
                .map(|(lane, address)| address.wrapping_sub(self.latest[lane]))
        };
        let is_next = |distance: &u64| [width, width.wrapping_neg()].contains(distance);
        let step = distances().find(is_next)?;
        let moved = distances().filter(|&distance| distance == step).count();
        (2 * moved > group.lanes()).then_some(step)
    }

    /// Adds a group to the walk and passes the records of lanes that leave it to `sink`. Returns whether the walk has
    /// saved records recently.
    #[inline]
    fn continue_by(
        &mut self,
        group: &AccessGroup,
        step: u64,
        mut sink: impl FnMut(Record),
    ) -> bool {
        let mut ended = 0;
        for (lane, address) in group.by_lane() {
            let count = self.counts[lane];
            let is_next = address == self.latest[lane].wrapping_add(step);
            if is_next && (1..MAX_PENDING).contains(&count) {
                self.counts[lane] = count + 1;
            } else {
                self.end_lane(lane, step, &mut sink);
                ended += i32::from(!is_next);
                self.counts[lane] = 1;
            }
            self.latest[lane] = address;
        }
        self.mask = group.mask;
        self.saved = (self.saved + records_of(group) - ended).min(MAX_SAVED);
        self.saved > 0
    }

    fn group(&self, mask: u32) -> AccessGroup {
        AccessGroup {
            site: self.site,
            cta: self.cta,
            warp: self.warp,
            width_bytes: self.width_bytes,
            mask,
            ..AccessGroup::EMPTY
        }
    }

    fn end_lane(&mut self, lane: usize, step: u64, sink: &mut impl FnMut(Record)) {
        let width = u64::from(self.width_bytes);
        let mut left = u64::from(std::mem::take(&mut self.counts[lane]));
        let first = (self.latest[lane]).wrapping_sub(step.wrapping_mul(left.saturating_sub(1)));
        let mut at = first.min(self.latest[lane]);
        while left > 0 {
            let room = PAGE_BYTES as u64 - at % PAGE_BYTES as u64;
            let loads = left.min(room / width).min(MAX_WALK);
            sink(Record::walk(&self.group(1 << lane), at, loads));
            at = at.wrapping_add(loads * width);
            left -= loads;
        }
    }

    /// Passes the records of all repetitions to `sink`.
    fn end_repetitions(&mut self, wide: &WideAccesses, sink: &mut impl FnMut(Record)) {
        let repetitions = std::mem::take(&mut self.repetitions);
        if repetitions == 0 {
            return;
        }
        let mut group = self.group(self.mask);
        let active = (0..WARP_LANES).filter(|lane| self.mask >> lane & 1 != 0);
        for (lane, address) in active.zip(&mut group.addresses) {
            *address = self.latest[lane];
        }
        let mut records = Vec::new();
        cut(&group, Op::Load, wide, &mut records);
        for record in records {
            let bits = (0..u16::BITS).filter(|bit| repetitions >> bit & 1 != 0);
            bits.for_each(|bit| sink(record.repeated(bit)));
        }
    }

    /// Passes the records of all loads that have none to `sink`.
    fn end(&mut self, wide: &WideAccesses, mut sink: impl FnMut(Record)) {
        self.end_repetitions(wide, &mut sink);
        if let Some(step) = self.step.take() {
            (0..WARP_LANES).for_each(|lane| self.end_lane(lane, step, &mut sink));
        }
    }
}

/// Returns the number of records that a group has by itself.
#[inline]
fn records_of(group: &AccessGroup) -> i32 {
    let width = u64::from(group.width_bytes);
    let neighbours = group.active_addresses().windows(2);
    let is_apart = |pair: &[u64]| {
        let distance = pair[1].wrapping_sub(pair[0]);
        i32::from(distance != 0 && distance != width && distance != width.wrapping_neg())
    };
    1 + neighbours.map(is_apart).sum::<i32>()
}

pub(crate) struct Walks {
    slots: Vec<Walk>,
    /// Slots with loads that have no records yet.
    pending: Vec<usize>,
}

impl Walks {
    pub(crate) fn new(slots: usize) -> Self {
        let none = Walk {
            site: SiteId(0),
            cta: 0,
            warp: 0,
            width_bytes: 0,
            epoch: 0,
            position: 0,
            is_pending: false,
            step: None,
            saved: 0,
            mask: 0,
            latest: [0; WARP_LANES],
            counts: [0; WARP_LANES],
            repetitions: 0,
        };
        Self {
            slots: vec![none; slots],
            pending: Vec::new(),
        }
    }

    /// Adds a group of loads in `epoch`, which belongs to one warp. Appends records to `out`, or to `earlier`, with
    /// their position, if the warp may have stored since. Returns whether the group has no records yet.
    #[inline]
    pub(crate) fn add(
        &mut self,
        slot: usize,
        group: &AccessGroup,
        epoch: u64,
        (phases, wide): (&Phases, &WideAccesses),
        (out, earlier): (&mut Vec<Record>, &mut Vec<(u32, Record)>),
    ) -> bool {
        let walk = &mut self.slots[slot];
        if !walk.is_of(group, epoch) {
            let position = walk.position;
            walk.end(wide, |record| {
                earlier.push((position, advanced(record, phases)))
            });
            (walk.epoch, walk.site, walk.cta) = (epoch, group.site, group.cta);
            (walk.warp, walk.width_bytes, walk.mask) = (group.warp, group.width_bytes, 0);
            walk.is_pending = false;
        }
        if !is_aligned(group) {
            walk.end(wide, |record| out.push(advanced(record, phases)));
            walk.mask = 0;
            append(group, Op::Load, (phases, wide), out);
            return false;
        }
        if !walk.is_pending {
            walk.position = out.len() as u32;
        }
        if walk.is_repeated_by(group) && walk.repetitions < u16::MAX {
            walk.repetitions += 1;
        } else {
            walk.end_repetitions(wide, &mut |record| out.push(advanced(record, phases)));
            let Some(step) = walk.step else {
                (walk.step, walk.saved) = (walk.step_to(group), MAX_SAVED);
                walk.mask = group.mask;
                group
                    .by_lane()
                    .for_each(|(lane, address)| walk.latest[lane] = address);
                append(group, Op::Load, (phases, wide), out);
                return false;
            };
            let mut sink = |record| out.push(advanced(record, phases));
            if !walk.continue_by(group, step, &mut sink) {
                walk.end(wide, &mut sink);
                return false;
            }
        }
        if !walk.is_pending {
            walk.is_pending = true;
            self.pending.push(slot);
        }
        true
    }

    /// Ends all walks.
    pub(crate) fn end(
        &mut self,
        (phases, wide): (&Phases, &WideAccesses),
        earlier: &mut Vec<(u32, Record)>,
    ) {
        for slot in self.pending.drain(..) {
            let walk = &mut self.slots[slot];
            let position = walk.position;
            walk.end(wide, |record| {
                earlier.push((position, advanced(record, phases)))
            });
            walk.is_pending = false;
        }
    }
}

fn advanced(mut record: Record, phases: &Phases) -> Record {
    phases.advance(&mut record);
    record
}

/// Returns whether all accesses are aligned to their width, so that none crosses a page boundary.
fn is_aligned(group: &AccessGroup) -> bool {
    let width = u64::from(group.width_bytes);
    let addresses = group.active_addresses().iter();
    let all = addresses.fold(0, |all, address| all | address);
    group.mask != 0
        && width.is_power_of_two()
        && width <= PAGE_BYTES as u64
        && all & (width - 1) == 0
}
