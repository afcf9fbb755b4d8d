//! Encodes groups whose addresses are a base and 32-bit offsets, as in GPU records. The output equals that of
//! [`Encoder::encode`]. If the slot's last group came in this form with the same lanes, the two groups are compared by
//! their offsets, which are half the size of addresses; the slot's shape is computed only when it is needed, by
//! [`settle`](Encoder::settle).

use super::bits;
use super::encode::{Encoder, SlotMove};
use super::model::{Source, lanes};
use super::offsets::{Lanes, Numbers, Offsets, Vectors};
use super::strays::are_few_strays;
use super::*;
use crate::{AccessGroup, WARP_LANES};

/// With fewer lanes, other forms are shorter.
const MIN_LANES: u32 = 3;

#[derive(Clone, Default)]
#[repr(align(64))]
pub(super) struct LastOffsets {
    offsets: Numbers,
    /// Lanes of the offsets; 0 if the offsets are invalid. They are also invalid if the slot is a run.
    mask: u32,
    /// Whether the slot's shape still belongs to an earlier group.
    is_ahead: bool,
}

impl LastOffsets {
    #[inline(always)]
    pub(super) fn invalidate(&mut self) {
        self.mask = 0;
    }
}

#[derive(Clone, Copy)]
struct Near<'a, const N: usize> {
    mask: u32,
    base: u64,
    offsets: Offsets<'a, N>,
}

impl<const N: usize> Near<'_, N> {
    #[inline(always)]
    fn lanes(&self) -> usize {
        self.mask.count_ones() as usize
    }

    #[inline(always)]
    fn address(&self, index: usize) -> u64 {
        self.base.wrapping_add(self.offsets.number(index) as u64)
    }

    #[inline(always)]
    fn addresses(&self) -> [u64; WARP_LANES] {
        self.offsets.addresses(self.base, self.lanes())
    }

    /// Returns the stride if the group is a full-warp run. The offsets must be close.
    #[inline(always)]
    fn stride<L: Lanes>(&self, row: L) -> Option<u64> {
        if self.mask != u32::MAX {
            return None;
        }
        let [first, second, last] = [0, 1, WARP_LANES - 1].map(|lane| self.offsets.number(lane));
        let stride = second - first;
        let is_likely = i64::from(stride) * (WARP_LANES as i64 - 1) == i64::from(last - first);
        (is_likely && row.is_run(first, stride)).then_some(stride as u64)
    }

    /// Returns whether the first three active lanes could belong to a run.
    #[inline(always)]
    fn could_be_run(&self) -> bool {
        let mut active = lanes(self.mask);
        let mut next = || active.next().unwrap_or(0) as i64;
        let [first, second, third] = [next(), next(), next()];
        let offset = |index: usize| i64::from(self.offsets.number(index));
        (offset(1) - offset(0)) * (third - second) == (offset(2) - offset(1)) * (second - first)
    }
}

impl Encoder {
    /// Adds `group` with at least one lane; the active lanes are at `base` plus `offsets`.
    #[inline]
    pub(crate) fn encode_near<const N: usize>(
        &mut self,
        group: &AccessGroup,
        base: u64,
        offsets: Offsets<'_, N>,
    ) {
        if self.avx2.is_some() {
            // SAFETY: `Avx2` exists only if the processor has all five features that the function enables.
            return unsafe { self.encode_near_avx2(group, base, offsets.0) };
        }
        self.encode_near_as::<Numbers, N>(group, base, offsets.0);
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn encode_near_avx2<const N: usize>(
        &mut self,
        group: &AccessGroup,
        base: u64,
        offsets: &[[u8; N]],
    ) {
        self.encode_near_as::<Vectors, N>(group, base, offsets);
    }

    #[inline(always)]
    fn encode_near_as<L: Lanes, const N: usize>(
        &mut self,
        group: &AccessGroup,
        base: u64,
        offsets: &[[u8; N]],
    ) {
        let near = Near {
            mask: group.mask,
            base,
            offsets: Offsets(offsets),
        };
        let (mask, row) = (near.mask, L::new(near.offsets, near.lanes()));
        if N > 2 && !row.are_close() {
            return self.encode_far(group, near);
        }
        if let Some(stride) = near.stride(row) {
            return self.encode_other_run(group, near.address(0), stride);
        }
        let (tag, number, previous) = self.begin(group);
        let move_index = self.state.arrive(number);
        let has_same_lanes = self.last[number].mask == mask && !self.state.slots[number].is_run;
        let form = match has_same_lanes && mask.count_ones() >= MIN_LANES {
            true => self.form_near([number, previous, move_index], near, row),
            false => None,
        };
        let form = form.unwrap_or_else(|| self.absolute_form(number, previous, move_index, near));
        self.end(tag | form);
    }

    /// Encodes a group with the same lanes as the slot's last group. Returns `None`, without changing anything, if that
    /// requires addresses.
    #[inline(always)]
    fn form_near<L: Lanes, const N: usize>(
        &mut self,
        [number, previous, move_index]: SlotMove,
        near: Near<'_, N>,
        row: L,
    ) -> Option<u8> {
        let (last, slot) = (&self.last[number], &mut self.state.slots[number]);
        let active = near.lanes();
        let lane_move = |index: usize| near.offsets.number(index) - last.offsets[index];
        // The move of most lanes, relative to the base.
        let [first, middle, end] = [lane_move(0), lane_move(active / 2), lane_move(active - 1)];
        let common = if middle == end { middle } else { first };
        let shift = slot.frame.map_or(0, |frame| frame.shift);
        let most_moved = (middle == end) | (first == middle) | (first == end);
        let found = row.compare(&last.offsets, active, common, shift);
        let all_moved = found.strays == 0;
        let start = near.address(0);
        let moved = start.wrapping_sub(slot.base);
        if all_moved && moved == slot.moves[move_index] {
            slot.base = start;
            return Some(FORM_STEP);
        }
        let link = match previous == number {
            true => moved,
            false => {
                let lane = near.mask.trailing_zeros() as usize;
                start.wrapping_sub(self.previous_lane(number, previous, lane))
            }
        };
        let slot = &mut self.state.slots[number];
        if slot.link == link && previous != number {
            return None;
        }
        if all_moved {
            let is_linked = slot.link == link && previous == number;
            (slot.base, slot.moves[move_index], slot.link) = (start, moved, link);
            if is_linked {
                return Some(FORM_LINK);
            }
            self.number(moved);
            return Some(FORM_MOVE);
        }
        if near.mask != u32::MAX && near.could_be_run() {
            return None;
        }
        slot.link = link;
        let (count, width) = (found.strays.count_ones(), bits::length(found.any.into()));
        // A single branch, because each condition by itself might be hard to predict.
        let is_move =
            (move_index == 0) & most_moved & !found.is_odd & are_few_strays(count, width, active);
        if is_move {
            let moved = moved.wrapping_add((common - first) as u64);
            let mut units = [0; WARP_LANES];
            found.units.store(&mut units);
            let units = |index: usize| u64::from(units[index] as u32);
            self.write_strays(number, moved, found.strays, width, units);
        }
        let form = match is_move {
            true => FORM_STRAYS,
            false => self.values_near(number, near),
        };
        self.state.slots[number].base = start;
        let last = &mut self.last[number];
        row.store(&mut last.offsets);
        self.ahead += u32::from(!std::mem::replace(&mut last.is_ahead, true));
        Some(form)
    }

    /// Returns the address of a lane of the previous slot, scaled to the width of slot `number`.
    #[inline(always)]
    fn previous_lane(&mut self, number: usize, previous: usize, lane: usize) -> u64 {
        let source = self.state.source(number, previous);
        if let Source::Lanes { scale, .. } = source
            && self.last[previous].is_ahead
        {
            if self.last[previous].mask == u32::MAX {
                let offsets = &self.last[previous].offsets;
                let distance = (offsets[lane] - offsets[0]) as u64;
                return scale.apply(self.state.slots[previous].base.wrapping_add(distance));
            }
            self.settle(previous);
        }
        self.state.source_address(source, lane)
    }

    /// Writes the values of a group, from its offsets if possible.
    #[inline(always)]
    fn values_near<const N: usize>(&mut self, number: usize, near: Near<'_, N>) -> u8 {
        if self.avx2.is_some() {
            // SAFETY: `Avx2` exists only if the processor has all five features that the function enables.
            return unsafe { self.values_near_avx2(number, near.mask, near.base, near.offsets.0) };
        }
        self.values(number, &near.addresses()[..near.lanes()])
    }

    #[inline(never)]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn values_near_avx2<const N: usize>(
        &mut self,
        number: usize,
        mask: u32,
        base: u64,
        offsets: &[[u8; N]],
    ) -> u8 {
        let (slot, offsets) = (&self.state.slots[number], Offsets(offsets));
        if let (Some(frame), u32::MAX) = (slot.frame, mask) {
            let from = frame.coordinate(slot.base);
            let row = Vectors::new(offsets, WARP_LANES);
            if let Some(row) = row.row(frame, base) {
                return self.values_in_frame(number, frame, from, row, WARP_LANES);
            }
            let start = base.wrapping_add(offsets.number(0) as u64);
            if let Some(row) = row.spread(frame.shift)
                && let Some(form) = self.values_close_together(number, frame, from, start, row)
            {
                return form;
            }
        }
        let lanes = mask.count_ones() as usize;
        self.values(number, &offsets.addresses(base, lanes)[..lanes])
    }

    /// Encodes a group by its addresses, because the slot's last group had other lanes or no offsets, or because this
    /// group is linked to another slot.
    #[inline(never)]
    fn absolute_form<const N: usize>(
        &mut self,
        number: usize,
        previous: usize,
        move_index: usize,
        near: Near<'_, N>,
    ) -> u8 {
        self.settle_both(number, previous);
        let addresses = &near.addresses()[..near.lanes()];
        let form = self.form_out_of_line([number, previous, move_index], near.mask, addresses);
        let slot = &self.state.slots[number];
        let first_lane = near.mask.trailing_zeros() as usize;
        // If other lanes set the shape, the base might not be an active lane's address.
        let is_base_active = !slot.is_run && slot.shape[first_lane] == 0;
        let last = &mut self.last[number];
        last.mask = if is_base_active { near.mask } else { 0 };
        last.offsets = near.offsets.numbers(near.lanes());
        form
    }

    #[cold]
    fn encode_far<const N: usize>(&mut self, group: &AccessGroup, near: Near<'_, N>) {
        self.encode(&AccessGroup {
            addresses: near.addresses(),
            ..*group
        });
    }

    /// Updates the shapes of the slots `number` and `previous` to match their last groups.
    #[inline(always)]
    pub(super) fn settle_both(&mut self, number: usize, previous: usize) {
        if self.ahead != 0 {
            self.settle(number);
            self.settle(previous);
        }
    }

    fn settle(&mut self, number: usize) {
        let (last, slot) = (&mut self.last[number], &mut self.state.slots[number]);
        if std::mem::take(&mut last.is_ahead) {
            self.ahead -= 1;
            for (lane, offset) in lanes(last.mask).zip(last.offsets) {
                slot.shape[lane] = (offset - last.offsets[0]) as u64;
            }
        }
    }
}
