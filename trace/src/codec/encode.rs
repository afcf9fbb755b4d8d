//! Encodes access groups.

use super::bits::{self, BitWriter};
use super::model::{Slot, Source, State, lanes};
use super::near::LastOffsets;
use super::values::{Range, number_bits};
use super::vectors::Avx2;
use super::*;
use crate::AccessGroup;
use crate::varint::{self, zigzag};
use rustc_hash::FxHashMap;

/// Maximum size of a move that is written even if the address would take fewer bits: moves compress and might repeat.
const SHORT_MOVE_BITS: u32 = 16;
/// Maximum stride, in bytes, at which a group of exactly two lanes is a run.
const CLOSE_BYTES: u64 = 256;

/// The slot, the previous slot, and the index of the slot's move.
pub(super) type SlotMove = [usize; 3];

#[derive(Default)]
pub(crate) struct Encoder {
    pub(super) avx2: Option<Avx2>,
    pub(super) state: State,
    pub(super) ranges: Vec<Range>,
    pub(super) last: Vec<LastOffsets>,
    /// Number of `last` entries that are ahead of their slots.
    pub(super) ahead: u32,
    slot_of: FxHashMap<u64, u32>,
    tags: Vec<u8>,
    places: Vec<u8>,
    numbers: Vec<u8>,
    pub(super) bits: BitWriter,
    last_tag: Option<u8>,
    repeated: u64,
    pub(crate) groups: usize,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Encoder {
            avx2: Avx2::detect(),
            ..Encoder::default()
        }
    }

    /// Resets the encoder to its state at the start of a chunk.
    pub(crate) fn clear(&mut self) {
        self.state.clear();
        self.slot_of.clear();
        self.ranges.clear();
        self.last.clear();
        self.ahead = 0;
        self.tags.clear();
        self.places.clear();
        self.numbers.clear();
        self.bits.clear();
        (self.last_tag, self.repeated, self.groups) = (None, 0, 0);
    }

    /// Returns the approximate combined size of the head and the tail.
    pub(crate) fn bytes(&self) -> usize {
        self.tags.len() + self.places.len() + self.numbers.len() + self.bits.len()
    }

    pub(crate) fn head(&mut self, out: &mut Vec<u8>) {
        self.end_repetition();
        for column in [&self.tags, &self.places, &self.numbers] {
            out.extend_from_slice(&(column.len() as u32).to_le_bytes());
        }
        for column in [&self.tags, &self.places, &self.numbers] {
            out.extend_from_slice(column);
        }
    }

    /// Writes the bytes that hardly compress; they follow the head.
    pub(crate) fn tail(&self, out: &mut Vec<u8>) {
        self.bits.copy_into(out);
    }

    pub(crate) fn encode(&mut self, group: &AccessGroup) {
        if self.avx2.is_some() {
            // SAFETY: `Avx2` exists only if the processor has all five features that the function enables.
            return unsafe { self.encode_avx2(group) };
        }
        self.encode_generic(group);
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn encode_avx2(&mut self, group: &AccessGroup) {
        self.encode_generic(group);
    }

    #[inline(always)]
    fn encode_generic(&mut self, group: &AccessGroup) {
        let addresses = group.active_addresses();
        if group.mask == u32::MAX {
            let stride = addresses[1].wrapping_sub(addresses[0]);
            if addresses[2].wrapping_sub(addresses[1]) == stride
                && is_run(addresses, addresses[0], stride)
            {
                self.encode_other_run(group, addresses[0], stride);
                return;
            }
        }
        let (tag, slot, previous) = self.begin(group);
        let move_index = self.state.arrive(slot);
        self.settle_both(slot, previous);
        self.last[slot].invalidate();
        let form = self.form([slot, previous, move_index], group.mask, addresses);
        self.end(tag | form);
    }

    /// Adds a group with all 32 lanes, lane *l* at `base + stride * l`; its `addresses` are ignored.
    #[inline(always)]
    pub(crate) fn encode_run(&mut self, group: &AccessGroup, base: u64, stride: u64) {
        if self.encode_expected_run(group, base, stride) {
            return self.end(PLACE_SAME | LANES_SAME | FORM_STEP);
        }
        self.encode_other_run(group, base, stride);
    }

    /// Encodes the run if it is the expected one: same slot, same place, and same move as last time.
    #[inline(always)]
    fn encode_expected_run(&mut self, group: &AccessGroup, base: u64, stride: u64) -> bool {
        let state = &mut self.state;
        let Some(expected) = state.expected() else {
            return false;
        };
        let mask = state.mask();
        let slot = &mut state.slots[expected];
        let differences = [
            u64::from(slot.site ^ group.site.0),
            u64::from(slot.width_bytes ^ group.width_bytes),
            u64::from(!slot.mask | !mask),
            u64::from(slot.place ^ state.place_number),
            u64::from(!slot.is_run),
            slot.stride ^ stride,
            slot.base.wrapping_add(slot.moves[0]) ^ base,
        ];
        let place = [group.cta, group.warp, group.sm];
        let is_expected =
            differences.into_iter().fold(0, |a, b| a | b) == 0 && state.place == place;
        if is_expected {
            slot.base = base;
            state.last = Some(expected);
        }
        is_expected
    }

    #[inline(never)]
    pub(super) fn encode_other_run(&mut self, group: &AccessGroup, base: u64, stride: u64) {
        let (tag, slot, previous) = self.begin(group);
        self.settle_both(slot, previous);
        let form = self.form_of_run(slot, previous, base, stride);
        self.end(tag | form);
    }

    /// Writes the site, place and mask. Returns their part of the tag, the slot and the previous slot.
    #[inline(always)]
    pub(super) fn begin(&mut self, group: &AccessGroup) -> (u8, usize, usize) {
        let state = &mut self.state;
        let mut tag = 0;
        let is_same = |slot: &usize| {
            let slot = &state.slots[*slot];
            (slot.site, slot.width_bytes) == (group.site.0, group.width_bytes)
        };
        let (slot, previous) = match state.expected().filter(is_same) {
            Some(expected) => (expected, state.advance_to(expected)),
            None => {
                tag |= TAG_SITE;
                let slot = self.unexpected_slot(group);
                (slot, self.state.move_to(slot))
            }
        };
        let state = &mut self.state;
        let place = [group.cta, group.warp, group.sm];
        if state.place != place {
            if state.next_place() == place {
                tag |= PLACE_STEP;
            } else {
                tag |= PLACE_NEW;
                for (new, old) in place.into_iter().zip(state.place) {
                    let difference = i64::from(new) - i64::from(old);
                    varint::append(&mut self.places, zigzag(difference));
                }
            }
            state.set_place(place);
        }
        tag |= self.mask(slot, group.mask);
        (tag, slot, previous)
    }

    /// Writes and returns the slot of a group that was not expected.
    #[inline(never)]
    fn unexpected_slot(&mut self, group: &AccessGroup) -> usize {
        let key = u64::from(group.site.0) << 32 | u64::from(group.width_bytes);
        let next = self.state.slots.len();
        let slot = *self.slot_of.entry(key).or_insert(next as u32) as usize;
        varint::append(&mut self.places, slot as u64);
        if slot == next {
            self.state.add(group.site.0, group.width_bytes);
            self.ranges.push(Range::NONE);
            self.last.push(LastOffsets::default());
            varint::append(&mut self.places, u64::from(group.site.0));
            varint::append(&mut self.places, u64::from(group.width_bytes));
        }
        slot
    }

    #[inline(always)]
    fn mask(&mut self, slot: usize, mask: u32) -> u8 {
        let (previous, slot_mask) = (self.state.mask(), self.state.slots[slot].mask);
        self.state.set_mask(slot, mask);
        if mask == slot_mask {
            LANES_SAME
        } else if mask == previous {
            LANES_PREVIOUS
        } else {
            self.new_mask(previous, slot_mask, mask)
        }
    }

    fn new_mask(&mut self, previous: u32, slot_mask: u32, mask: u32) -> u8 {
        let lane_count = |all: u32| match mask & !all {
            0 => all.count_ones(),
            _ => u32::MAX,
        };
        if lane_count(slot_mask) <= lane_count(previous) && mask & !slot_mask == 0 {
            let subset = extract_bits(slot_mask, mask);
            self.bits.put(subset, slot_mask.count_ones());
            return LANES_SUBSET;
        }
        if mask & !previous == 0 {
            let subset = extract_bits(previous, mask);
            self.bits.put(subset << 1, 1 + previous.count_ones());
        } else {
            self.bits.put(u64::from(mask) << 1 | 1, 33);
        }
        LANES_NEW
    }

    #[inline(always)]
    pub(super) fn end(&mut self, tag: u8) {
        self.groups += 1;
        if self.last_tag == Some(tag) && is_bare(tag) {
            self.repeated += 1;
            return;
        }
        if self.repeated != 0 {
            self.end_repetition();
        }
        self.tags.push(tag);
        self.last_tag = Some(tag);
    }

    fn end_repetition(&mut self) {
        match (std::mem::take(&mut self.repeated), self.last_tag) {
            (0, _) | (_, None) => {}
            (1, Some(tag)) => self.tags.push(tag),
            (repeated, Some(_)) => {
                self.tags.push(TAG_REPEAT);
                varint::append(&mut self.tags, repeated);
            }
        }
    }

    #[inline(always)]
    pub(super) fn number(&mut self, number: u64) {
        varint::append(&mut self.numbers, zigzag(number as i64));
    }

    #[inline(always)]
    fn form_of_run(&mut self, number: usize, previous: usize, base: u64, stride: u64) -> u8 {
        let state = &mut self.state;
        let move_index = state.arrive(number);
        let slot = &mut state.slots[number];
        let is_same = slot.is_run && slot.stride == stride;
        let moved = base.wrapping_sub(slot.base);
        if is_same && moved == slot.moves[move_index] {
            slot.base = base;
            return FORM_STEP;
        }
        let source = state.source(number, previous);
        let link = base.wrapping_sub(state.source_address(source, 0));
        let slot = &mut state.slots[number];
        let is_linked = slot.link == link
            && matches!(source, Source::Run { stride: linked, .. } if linked == stride);
        (slot.is_run, slot.stride, slot.base, slot.link) = (true, stride, base, link);
        if is_linked {
            slot.moves[move_index] = moved;
            return FORM_LINK;
        }
        if is_same {
            slot.moves[move_index] = moved;
            self.number(moved);
            FORM_MOVE
        } else {
            self.number(moved);
            self.number(stride);
            FORM_RUN
        }
    }

    /// Out-of-line copy of [`form`](Self::form) for cold call sites.
    pub(super) fn form_out_of_line(&mut self, slot: SlotMove, mask: u32, addresses: &[u64]) -> u8 {
        if self.avx2.is_some() {
            // SAFETY: `Avx2` exists only if the processor has all five features that the function enables.
            return unsafe { self.form_avx2(slot, mask, addresses) };
        }
        self.form(slot, mask, addresses)
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    fn form_avx2(&mut self, slot: SlotMove, mask: u32, addresses: &[u64]) -> u8 {
        self.form(slot, mask, addresses)
    }

    #[inline(always)]
    fn form(&mut self, slot: SlotMove, mask: u32, addresses: &[u64]) -> u8 {
        let [number, previous, move_index] = slot;
        let state = &mut self.state;
        let first_lane = mask.trailing_zeros() as usize;
        let slot = &mut state.slots[number];
        let start = addresses[0].wrapping_sub(slot.distance(first_lane));
        let moved = start.wrapping_sub(slot.base);
        let has_moved = has_addresses(slot, start, mask, addresses);
        if has_moved && moved == slot.moves[move_index] {
            slot.base = start;
            return FORM_STEP;
        }
        let source = state.source(number, previous);
        let link = addresses[0].wrapping_sub(state.source_address(source, first_lane));
        // A slot that is linked to itself must have moved.
        let is_linked = (previous != number || has_moved)
            && state.slots[number].link == link
            && (lanes(mask).zip(addresses)).all(|(lane, &address)| {
                state.source_address(source, lane).wrapping_add(link) == address
            });
        if is_linked {
            state.follow(number, move_index, source, mask, addresses);
            return FORM_LINK;
        }
        let slot = &mut state.slots[number];
        slot.link = link;
        if has_moved && is_worth_moving(slot, moved, addresses) {
            (slot.base, slot.moves[move_index]) = (start, moved);
            self.number(moved);
            return FORM_MOVE;
        }
        if mask != u32::MAX
            && let Some((base, stride)) = run_of(mask, addresses)
        {
            let moved = base.wrapping_sub(slot.base);
            (slot.is_run, slot.base, slot.stride) = (true, base, stride);
            self.number(moved);
            self.number(stride);
            return FORM_RUN;
        }
        let form = match move_index == 0 && self.strays(number, mask, addresses) {
            true => FORM_STRAYS,
            false => self.values(number, addresses),
        };
        self.state.slots[number].set(mask, addresses);
        form
    }
}

/// Extracts the bits of `mask` at the set bits of `all`.
fn extract_bits(all: u32, mask: u32) -> u64 {
    let mut subset = 0;
    for (index, lane) in lanes(all).enumerate() {
        subset |= u64::from(mask >> lane & 1) << index;
    }
    subset
}

#[inline(always)]
fn is_run(addresses: &[u64], base: u64, stride: u64) -> bool {
    let differences = (addresses.iter().enumerate()).fold(0, |all, (lane, &address)| {
        all | (address.wrapping_sub(base) ^ stride.wrapping_mul(lane as u64))
    });
    differences == 0
}

/// Returns whether the slot's lanes would be at these addresses if its base were at `start`.
#[inline(always)]
fn has_addresses(slot: &Slot, start: u64, mask: u32, addresses: &[u64]) -> bool {
    if mask != u32::MAX {
        return (lanes(mask).zip(addresses))
            .all(|(lane, &address)| start.wrapping_add(slot.distance(lane)) == address);
    }
    // Full-warp runs have been handled already.
    !slot.is_run
        && addresses[1].wrapping_sub(start) == slot.shape[1]
        && (addresses.iter().zip(&slot.shape)).fold(0, |all, (&address, &distance)| {
            all | (address.wrapping_sub(start) ^ distance)
        }) == 0
}

fn is_worth_moving(slot: &Slot, moved: u64, addresses: &[u64]) -> bool {
    let bits = number_bits(moved);
    let is_long_for_few = addresses.len() <= 2 && bits > SHORT_MOVE_BITS;
    let Some(frame) = slot.frame.filter(|_| is_long_for_few) else {
        return true;
    };
    let is_inside = |&address: &u64| {
        let coordinate = frame.coordinate(address);
        coordinate & !bits::low_bits(frame.bits) == 0 && frame.address(coordinate) == address
    };
    bits <= addresses.len() as u32 * frame.bits || !addresses.iter().all(is_inside)
}

/// Returns the address of lane 0 and the stride, if all lanes have the same stride. A group of exactly two
/// lanes nearly always qualifies, so the two must also be close together.
fn run_of(mask: u32, addresses: &[u64]) -> Option<(u64, u64)> {
    let &[first, second, ..] = addresses else {
        return None;
    };
    let mut active = lanes(mask);
    let (first_lane, second_lane) = (active.next()?, active.next()?);
    let difference = second.wrapping_sub(first) as i64;
    let gap = second_lane as i64 - first_lane as i64;
    let stride = difference / gap;
    if stride * gap != difference || addresses.len() == 2 && stride.unsigned_abs() > CLOSE_BYTES {
        return None;
    }
    let base = first.wrapping_sub((stride as u64).wrapping_mul(first_lane as u64));
    let expected = |lane: usize| base.wrapping_add((stride as u64).wrapping_mul(lane as u64));
    let is_run = lanes(mask)
        .zip(addresses)
        .all(|(lane, &address)| expected(lane) == address);
    is_run.then_some((base, stride as u64))
}
