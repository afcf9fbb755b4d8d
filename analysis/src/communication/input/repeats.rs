//! Accesses that a warp repeats, for example while it waits for another CTA or updates sums in memory. They are kept
//! once, with a repeat count.
//!
//! Loads in a launch see memory as it was before the launch, unless the thread itself has stored to it. Therefore, a
//! load counts like the previous one if the warp has not stored to other bytes since. A store that the same threads
//! have already performed in the same phase changes nothing.

use super::block::ShardCounts;
use super::phases::Phases;
use super::record::{Record, WideAccesses, cut};
use super::walks::Walks;
use crate::communication::state::shadow::PAGE_BYTES;
use superstep_trace::{AccessGroup, Op, SiteId, WARP_LANES};

const WARPS: usize = 1 << 10;
const SLOT_BITS: u32 = 12;

/// Number of groups in a window: more than a multiprocessor's warps produce in one iteration of most loops; small in
/// tests, so that they cover skipped windows.
const WINDOW: u32 = if cfg!(test) { 16 } else { 1 << 13 };
/// Minimum number of repetitions in a window. If there are fewer, the next windows are not searched: at first
/// [`MIN_SKIPPED`] windows, and twice as many each time, up to [`MAX_SKIPPED`].
const WORTHWHILE: u32 = WINDOW / 16;
const MIN_SKIPPED: u32 = 4;
const MAX_SKIPPED: u32 = 16;

/// Addresses of a group: lane *l* accesses `first + l * step`, and no access crosses a page boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Line {
    first: u64,
    step: u64,
    width: u32,
}

impl Line {
    #[inline]
    fn of(group: &AccessGroup) -> Option<Self> {
        let (width, addresses) = (u64::from(group.width_bytes), group.active_addresses());
        let all = addresses.iter().fold(0, |all, address| all | address);
        if !width.is_power_of_two() || all & (width - 1) != 0 || width > PAGE_BYTES as u64 {
            return None;
        }
        let rest = group.mask & group.mask.wrapping_sub(1);
        let lane = group.mask.trailing_zeros();
        let step = match addresses {
            [] => return None,
            [_] => width,
            [first, second, ..] => {
                let distance = second.wrapping_sub(*first);
                match i64::from(rest.trailing_zeros() - lane) {
                    1 => distance,
                    lanes if distance == width * lanes as u64 => width,
                    lanes => (distance as i64 / lanes) as u64,
                }
            }
        };
        let line = Self {
            first: addresses[0].wrapping_sub(step.wrapping_mul(u64::from(lane))),
            step,
            width: group.width_bytes,
        };
        // Scattered accesses usually fail here.
        let last = u32::BITS - 1 - group.mask.leading_zeros();
        if addresses.last() != Some(&line.address(last)) {
            return None;
        }
        let differences = match group.mask {
            u32::MAX => (addresses.windows(2))
                .fold(0, |all, pair| all | (pair[1].wrapping_sub(pair[0]) ^ step)),
            mask => lanes(mask).zip(addresses).fold(0, |all, (lane, address)| {
                all | (line.address(lane) ^ address)
            }),
        };
        (differences == 0).then_some(line)
    }

    /// Returns whether the accesses of adjacent lanes usually have one record.
    #[inline]
    fn is_one_record(&self) -> bool {
        let width = u64::from(self.width);
        self.step == width || self.step == 0 || self.step == width.wrapping_neg()
    }

    #[inline]
    fn address(&self, lane: u32) -> u64 {
        (self.first).wrapping_add(self.step.wrapping_mul(u64::from(lane)))
    }
}

fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(lane)
    })
}

/// Current epoch of a warp of one CTA; a new one starts when the warp stores to other bytes. Warps never share epochs.
#[derive(Clone, Copy, Default)]
struct Warp {
    cta: u32,
    warp: u32,
    epoch: u64,
    /// First epoch after the latest grid barrier.
    phase: u64,
}

/// The latest accesses of one warp at one site.
#[derive(Clone, Copy, Default)]
struct Slot {
    group: Key,
    line: Line,
    epoch: u64,
    /// Lanes whose accesses have records from the current epoch or, for stores, from the current phase.
    recorded: u32,
    stored: u32,
    /// Number of records in the block before those of the latest group.
    position: u32,
    /// Number of groups with repetitions that have no records yet.
    groups: u16,
    /// Number of these groups with repetitions by all lanes, which are not in [`Repeats::times`].
    full: u16,
    op: Option<Op>,
}

/// Site, CTA and warp.
type Key = (u32, u32, u32);

/// The latest accesses of warps, all with records in the current block.
pub(crate) struct Repeats {
    warps: Vec<Warp>,
    slots: Vec<Slot>,
    /// Number of repetitions that have no records yet, by slot and lane.
    times: Vec<[u16; WARP_LANES]>,
    last_epoch: u64,
    /// First epoch in the current block.
    block: u64,
    /// Slots with repetitions that have no records yet.
    counted: Vec<usize>,
    /// Records of repetitions, with their positions in the block.
    records: Vec<(u32, Record)>,
    walks: Walks,
    is_searching: bool,
    /// Number of windows to skip if this one is not worthwhile.
    skipped: u32,
    /// Number of groups until the next window.
    left: u32,
    /// Number of repetitions in this window.
    found: u32,
}

impl Repeats {
    pub(crate) fn new() -> Self {
        Self {
            warps: vec![Warp::default(); WARPS],
            slots: vec![Slot::default(); 1 << SLOT_BITS],
            times: vec![[0; WARP_LANES]; 1 << SLOT_BITS],
            last_epoch: 0,
            block: 1,
            counted: Vec::new(),
            records: Vec::new(),
            walks: Walks::new(1 << SLOT_BITS),
            is_searching: true,
            skipped: MIN_SKIPPED,
            left: WINDOW,
            found: 0,
        }
    }

    /// Returns the number of records that [`Self::end`] adds to a block, so far.
    pub(crate) fn records(&self) -> usize {
        self.records.len()
    }

    fn new_epoch(&mut self) -> u64 {
        self.last_epoch += 1;
        self.last_epoch
    }

    /// Returns the index of a warp's state.
    #[inline]
    fn warp(&mut self, group: &AccessGroup) -> usize {
        let index = group.cta.wrapping_mul(37).wrapping_add(group.warp) as usize % WARPS;
        let warp = &self.warps[index];
        if (warp.cta, warp.warp) != (group.cta, group.warp) || warp.phase < self.block {
            let epoch = self.new_epoch();
            self.warps[index] = Warp {
                cta: group.cta,
                warp: group.warp,
                epoch,
                phase: epoch,
            };
        }
        index
    }

    /// Counts the lanes of `group` that repeat an access, and appends records of the other lanes.
    #[inline]
    pub(crate) fn add(
        &mut self,
        group: &AccessGroup,
        op: Op,
        context: (&Phases, &WideAccesses),
        out: &mut Vec<Record>,
    ) {
        if self.left == 0 {
            self.next_window(context);
        }
        self.left -= 1;
        if !self.is_searching {
            return append(group, op, context, out);
        }
        let warp = self.warp(group);
        let line = Line::of(group);
        let Warp { epoch, phase, .. } = self.warps[warp];
        let key = (group.site.0, group.cta, group.warp);
        let index = slot_of(key);
        let is_scattered = group.lanes() == 1 || line.is_none_or(|line| !line.is_one_record());
        if is_scattered && !op.writes() {
            let records = (out, &mut self.records);
            let has_none = self.walks.add(index, group, epoch, context, records);
            self.found += u32::from(has_none);
            return;
        }
        let Some(line) = line else {
            self.warps[warp].epoch = self.new_epoch();
            return append(group, op, context, out);
        };
        let slot = &self.slots[index];
        let is_same = (slot.group, slot.line) == (key, line) && slot.epoch >= phase;
        if !is_same || op.reads() && slot.epoch != epoch {
            self.end_slot(index, context);
            let slot = &mut self.slots[index];
            if !is_same {
                (slot.group, slot.line, slot.stored, slot.op) = (key, line, 0, Some(op));
            }
            (slot.epoch, slot.recorded) = (epoch, 0);
        }
        let slot = &mut self.slots[index];
        let (repeated, new) = (group.mask & slot.recorded, group.mask & !slot.recorded);
        if repeated != 0 {
            if slot.groups == 0 {
                self.counted.push(index);
            }
            slot.groups += 1;
            self.found += 1;
            match repeated {
                u32::MAX => slot.full += 1,
                _ => (self.times[index].iter_mut().enumerate())
                    .for_each(|(lane, times)| *times += (repeated >> lane & 1) as u16),
            }
            if slot.groups == u16::MAX {
                self.end_slot(index, context);
            }
        }
        if new == 0 {
            return;
        }
        let slot = &mut self.slots[index];
        (slot.recorded, slot.position) = (slot.recorded | new, out.len() as u32);
        if op.writes() && new & !slot.stored != 0 {
            slot.stored |= new;
            self.warps[warp].epoch = self.new_epoch();
        }
        match new == group.mask {
            true => append(group, op, context, out),
            false => append(&part(key, line, new), op, context, out),
        }
    }

    /// Ends a warp's phase, before `phases` counts the grid barrier.
    pub(crate) fn end_phase(&mut self, barrier: &AccessGroup, context: (&Phases, &WideAccesses)) {
        self.end_slots(context);
        let warp = self.warp(barrier);
        let epoch = self.new_epoch();
        (self.warps[warp].epoch, self.warps[warp].phase) = (epoch, epoch);
    }

    /// Adds the records of all repetitions to those of the block, so that the block can end.
    pub(crate) fn end(
        &mut self,
        context: (&Phases, &WideAccesses),
        shards: &mut ShardCounts,
        block: &mut Vec<Record>,
    ) {
        self.end_slots(context);
        self.block = self.new_epoch();
        if self.records.is_empty() {
            return;
        }
        *shards = ShardCounts::new();
        self.records.sort_by_key(|(position, _)| *position);
        let mut all = Vec::with_capacity(block.len() + self.records.len());
        let mut start = 0;
        for (position, record) in self.records.drain(..) {
            let end = position as usize;
            all.extend_from_slice(&block[start..end]);
            all.push(record);
            start = end;
        }
        all.extend_from_slice(&block[start..]);
        *block = all;
    }

    fn next_window(&mut self, context: (&Phases, &WideAccesses)) {
        self.end_slots(context);
        let is_worthwhile = self.found >= WORTHWHILE;
        (self.left, self.found) = (WINDOW, 0);
        if is_worthwhile {
            self.skipped = MIN_SKIPPED;
        } else if self.is_searching {
            self.left *= self.skipped;
            self.skipped = (2 * self.skipped).min(MAX_SKIPPED);
            // Stores in the skipped windows are not tracked.
            self.block = self.new_epoch();
        }
        self.is_searching = is_worthwhile || !self.is_searching;
    }

    fn end_slots(&mut self, context: (&Phases, &WideAccesses)) {
        self.walks.end(context, &mut self.records);
        for index in std::mem::take(&mut self.counted) {
            self.end_slot(index, context);
        }
    }

    /// Makes records of a slot's repetitions: for each bit of the repeat counts, those of the lanes with that bit set.
    fn end_slot(&mut self, index: usize, context: (&Phases, &WideAccesses)) {
        let slot = &mut self.slots[index];
        let Some(op) = slot.op.filter(|_| slot.groups > 0) else {
            return;
        };
        let bits = u16::BITS - slot.groups.leading_zeros();
        let full = std::mem::take(&mut slot.full);
        self.times[index]
            .iter_mut()
            .for_each(|times| *times += full);
        let mut records = Vec::new();
        for bit in 0..bits {
            let is_set = |(lane, times): (usize, &u16)| u32::from(times >> bit & 1) << lane;
            let mask = self.times[index].iter().enumerate().map(is_set).sum();
            if mask != 0 {
                append(
                    &part(slot.group, slot.line, mask),
                    op,
                    context,
                    &mut records,
                );
                let repeated = records.drain(..).map(|record| record.repeated(bit));
                self.records
                    .extend(repeated.map(|record| (slot.position, record)));
            }
        }
        (slot.groups, self.times[index]) = (0, [0; WARP_LANES]);
    }
}

#[inline]
fn slot_of((site, cta, warp): Key) -> usize {
    let key = u64::from(cta) << 32 ^ u64::from(site) << 8 ^ u64::from(warp);
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOT_BITS)) as usize
}

/// Returns the accesses of the lanes in `mask`.
fn part((site, cta, warp): Key, line: Line, mask: u32) -> AccessGroup {
    let mut group = AccessGroup {
        site: SiteId(site),
        cta,
        warp,
        mask,
        width_bytes: line.width,
        ..AccessGroup::EMPTY
    };
    for (lane, address) in lanes(mask).zip(&mut group.addresses) {
        *address = line.address(lane);
    }
    group
}

pub(super) fn append(
    group: &AccessGroup,
    op: Op,
    (phases, wide): (&Phases, &WideAccesses),
    out: &mut Vec<Record>,
) {
    let first = out.len();
    cut(group, op, wide, out);
    if !phases.is_empty() {
        (out[first..].iter_mut()).for_each(|record| phases.advance(record));
    }
}
