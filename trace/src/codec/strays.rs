//! Encodes groups whose lanes all moved by the same distance, except for a few in another iteration of an outer loop.

use super::bits;
use super::encode::Encoder;
use super::model::{Slot, lanes};
use super::*;
use crate::WARP_LANES;
use crate::varint::zigzag;

/// Limit on the bits per active lane; above it, another form might be shorter.
const MAX_BITS_PER_LANE: u32 = 4;
/// Bits in the head: whether the move is new, the number of strays, and their width.
const HEAD_BITS: u32 = 1 + STRAYS_BITS + WIDTH_BITS;
/// Limit on the width of a stray's deviation, in bits.
const MAX_WIDTH: u32 = 32;

impl Encoder {
    /// Writes the addresses as a move and the lanes that deviate from it, if this takes few bits. Does not update the
    /// slot's addresses.
    #[inline(always)]
    pub(super) fn strays(&mut self, number: usize, mask: u32, addresses: &[u64]) -> bool {
        let slot = &self.state.slots[number];
        let Some(moved) = common_move(slot, mask, addresses) else {
            return false;
        };
        let mut deviations = [0; WARP_LANES];
        let strays = strays_of(slot, moved, mask, addresses, &mut deviations);
        let shift = slot.frame.map_or(0, |frame| frame.shift);
        let (mut any, mut odd) = (0, 0);
        for index in lanes(strays) {
            odd |= deviations[index];
            deviations[index] = zigzag(deviations[index] as i64 >> shift);
            any |= deviations[index];
        }
        let width = bits::length(any);
        let fits = odd & bits::low_bits(shift) == 0
            && are_few_strays(strays.count_ones(), width, addresses.len());
        if fits {
            self.write_strays(number, moved, strays, width, |index| deviations[index]);
        }
        fits
    }

    /// Writes a move and its strays: the indices of the active lanes in `strays`, and their deviations, zigzag-encoded
    /// in `width` bits.
    #[inline(always)]
    pub(super) fn write_strays(
        &mut self,
        number: usize,
        moved: u64,
        strays: u32,
        width: u32,
        deviation: impl Fn(usize) -> u64,
    ) {
        let (count, each) = (strays.count_ones(), STRAYS_BITS + width);
        let slot = &mut self.state.slots[number];
        let is_new = slot.moves[0] != moved;
        slot.moves[0] = moved;
        self.bits.put(
            u64::from(is_new) | u64::from(count) << 1 | u64::from(width) << (1 + STRAYS_BITS),
            HEAD_BITS,
        );
        if is_new {
            self.number(moved);
        }
        let mut rest = strays;
        let mut next = || {
            let index = rest.trailing_zeros() as usize % WARP_LANES;
            rest &= rest.wrapping_sub(1);
            index as u64 | deviation(index) << STRAYS_BITS
        };
        if width <= 64 / 4 - STRAYS_BITS {
            // Write four strays at a time: a loop over an unpredictable number of them would often be mispredicted.
            let mut left = count * each;
            while left != 0 {
                let [a, b, c, d] = [next(), next(), next(), next()];
                let all = a | b << each | (c | d << each) << (2 * each);
                let bits = left.min(4 * each);
                self.bits.put(all & bits::low_bits(bits), bits);
                left -= bits;
            }
        } else {
            for _ in 0..count {
                self.bits.put(next(), each);
            }
        }
    }
}

/// Returns whether `count` strays among `active` lanes take few bits.
#[inline(always)]
pub(super) fn are_few_strays(count: u32, width: u32, active: usize) -> bool {
    let bits = HEAD_BITS + count * (STRAYS_BITS + width);
    (width <= MAX_WIDTH) & (bits <= MAX_BITS_PER_LANE * active as u32)
}

/// Returns the mask of the active lanes, by index, that did not move by `moved`; writes all lanes' deviations to `out`.
#[inline(always)]
fn strays_of(
    slot: &Slot,
    moved: u64,
    mask: u32,
    addresses: &[u64],
    out: &mut [u64; WARP_LANES],
) -> u32 {
    let base = slot.base.wrapping_add(moved);
    if mask == u32::MAX && !slot.is_run {
        for ((out, address), distance) in out.iter_mut().zip(addresses).zip(&slot.shape) {
            *out = address.wrapping_sub(base).wrapping_sub(*distance);
        }
    } else {
        for ((out, address), lane) in out.iter_mut().zip(addresses).zip(lanes(mask)) {
            *out = address.wrapping_sub(base).wrapping_sub(slot.distance(lane));
        }
    }
    let all = out.iter().enumerate();
    all.fold(0, |strays, (index, &deviation)| {
        strays | u32::from(deviation != 0) << index
    })
}

/// Returns the move that at least two of three lanes have in common.
#[inline(always)]
fn common_move(slot: &Slot, mask: u32, addresses: &[u64]) -> Option<u64> {
    let mut active = lanes(mask);
    let middle = addresses.len() / 2;
    let lane_move = |index: usize, lane: usize| {
        addresses[index].wrapping_sub(slot.base.wrapping_add(slot.distance(lane)))
    };
    let first = lane_move(0, active.next()?);
    let second = lane_move(middle, active.nth(middle.checked_sub(1)?)?);
    if first == second {
        return Some(first);
    }
    let last = lane_move(addresses.len() - 1, 31 - mask.leading_zeros() as usize);
    (last == first || last == second).then_some(last)
}
