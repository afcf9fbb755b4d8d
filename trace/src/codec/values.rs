//! Writes addresses that cannot be predicted, in the shortest of four forms.

use super::bits;
use super::encode::Encoder;
use super::model::Frame;
use super::offsets::MIDDLE;
use super::vectors::Row;
use super::*;
use crate::WARP_LANES;
use crate::varint::zigzag;

/// Bound on coordinates, so that adding distances to them does not overflow.
const FAR_AWAY: u64 = 1 << 60;
/// Limit on a frame's shift; larger units save hardly any bits.
const MAX_SHIFT: u32 = 12;

/// Range of the addresses for which a slot's frame was created, and of those encoded in it since then.
#[derive(Clone, Copy)]
pub(super) struct Range {
    low: u64,
    high: u64,
}

impl Range {
    pub(super) const NONE: Range = Range {
        low: u64::MAX,
        high: 0,
    };

    #[inline(always)]
    fn with(self, addresses: &[u64]) -> Self {
        Range {
            low: addresses.iter().fold(self.low, |low, &a| low.min(a)),
            high: addresses.iter().fold(self.high, |high, &a| high.max(a)),
        }
    }

    /// Extends the range to the coordinates `low` and `high` of the frame.
    #[inline(always)]
    fn extend(&mut self, frame: Frame, low: u32, high: u32) {
        self.low = self.low.min(frame.address(low.into()));
        self.high = self.high.max(frame.address(high.into()));
    }

    /// Returns a frame that contains this range and `addresses`; its unit is no larger than the old frame's.
    fn frame(self, old: Option<Frame>, addresses: &[u64], width_bytes: u32) -> Frame {
        let mut odd = addresses.iter().fold(0, |odd, &a| odd | (a - self.low));
        match old {
            Some(frame) => odd |= frame.base.wrapping_sub(self.low) | 1 << frame.shift,
            // A single address says nothing about the unit.
            None if odd == 0 => odd = u64::from(width_bytes),
            None => {}
        }
        let shift = odd.trailing_zeros().min(MAX_SHIFT);
        let span = (self.high - self.low) >> shift;
        let bits = bits::length(span);
        // Centre the range within the span that the bits can represent.
        let below = ((bits::low_bits(bits) - span) / 2).min(self.low >> shift);
        Frame {
            base: self.low - (below << shift),
            shift,
            bits,
        }
    }
}

impl Encoder {
    #[inline(always)]
    pub(super) fn values(&mut self, number: usize, addresses: &[u64]) -> u8 {
        let slot = &self.state.slots[number];
        let Some(frame) = slot.frame else {
            return self.new_frame(number, addresses);
        };
        let near = frame.coordinate(slot.base);
        let row = match (self.avx2, addresses.try_into()) {
            // SAFETY: `Avx2` proves that the processor has the feature.
            (Some(_), Ok(whole)) => unsafe { Row::whole(frame, whole) },
            _ => Row::new(frame, addresses),
        };
        if row.any & bits::low_bits(frame.shift) != 0 {
            self.new_frame(number, addresses)
        } else if frame.bits <= 32 && row.any >> frame.shift >> frame.bits == 0 {
            self.values_in_frame(number, frame, near, row, addresses.len())
        } else {
            self.values_anywhere(number, frame, near, addresses)
        }
    }

    /// Writes addresses inside a frame with coordinates of at most 32 bits.
    #[inline(always)]
    pub(super) fn values_in_frame(
        &mut self,
        number: usize,
        frame: Frame,
        near: u64,
        row: Row,
        lanes: usize,
    ) -> u8 {
        let Row { low, high, .. } = row;
        let (mut all, mut rest, min_rest) = (row.all, row.rest, row.min_rest);
        self.ranges[number].extend(frame, low, high);

        let width = bits::length(u64::from(row.max_rest.wrapping_sub(min_rest) as u32));

        let near_width = bits::length(u64::from(high - low));
        let from_near = u64::from(low).wrapping_sub(near);
        let kind_bits = VALUES_KIND_BITS + WIDTH_BITS;
        let frame_bits = lanes as u32 * frame.bits;
        let differences_bits = kind_bits + 2 * frame.bits + (lanes as u32 - 1) * width;
        let near_bits = kind_bits + number_bits(from_near) + lanes as u32 * near_width;
        if frame_bits <= differences_bits.min(near_bits) {
            self.bits.put_row(self.avx2, &all, lanes, frame.bits);
            return FORM_FRAME;
        }
        if differences_bits < near_bits {
            let pivot = u64::from(row.first.wrapping_add(min_rest as u32));
            let pivot = pivot & bits::low_bits(frame.bits);
            for difference in &mut rest {
                *difference = difference.wrapping_sub(min_rest as u32);
            }
            rest[lanes - 1..].fill(0);
            let start = u64::from(all[0]);
            self.bits.put(
                VALUES_FRAME_DIFFERENCES | start << VALUES_KIND_BITS,
                VALUES_KIND_BITS + frame.bits,
            );
            self.bits.put(
                pivot | u64::from(width) << frame.bits,
                frame.bits + WIDTH_BITS,
            );
            self.bits.put_row(self.avx2, &rest, lanes - 1, width);
        } else {
            for coordinate in &mut all {
                *coordinate = coordinate.wrapping_sub(low);
            }
            all[lanes..].fill(0);
            self.number(from_near);
            let head = VALUES_NEAR | u64::from(near_width) << VALUES_KIND_BITS;
            self.bits.put(head, kind_bits);
            self.bits.put_row(self.avx2, &all, lanes, near_width);
        }
        FORM_VALUES
    }

    /// Writes addresses at multiples of the frame's unit.
    #[inline(always)]
    fn values_anywhere(&mut self, number: usize, frame: Frame, near: u64, addresses: &[u64]) -> u8 {
        let lanes = addresses.len() as u32;
        let mut all = [0; WARP_LANES];
        let all = &mut all[..addresses.len()];
        for (coordinate, &address) in all.iter_mut().zip(addresses) {
            *coordinate = frame.coordinate(address);
        }
        let any = all.iter().fold(0, |any, &c| any | c);
        let low = all.iter().fold(i64::MAX, |low, &c| low.min(c as i64));
        let high = all.iter().fold(i64::MIN, |high, &c| high.max(c as i64));

        let mut rest = [0; WARP_LANES];
        let rest = &mut rest[..addresses.len() - 1];
        let first = all.get(1).map_or(0, |second| second.wrapping_sub(all[0]));
        let (mut min_rest, mut max_rest) = (0, 0);
        for (difference, pair) in rest.iter_mut().zip(all.windows(2)) {
            let distance = pair[1].wrapping_sub(pair[0]).wrapping_sub(first) as i64;
            (min_rest, max_rest) = (distance.min(min_rest), distance.max(max_rest));
            *difference = distance as u64;
        }
        let width = bits::length(max_rest.wrapping_sub(min_rest) as u64);

        let pivot = first.wrapping_add(min_rest as u64);
        let near_width = bits::length(high.wrapping_sub(low) as u64);
        let from_near = (low as u64).wrapping_sub(near);
        let start = all[0].wrapping_sub(near);
        let kind_bits = VALUES_KIND_BITS + WIDTH_BITS;
        let near_bits = kind_bits + number_bits(from_near) + lanes * near_width;
        let differences_bits =
            kind_bits + number_bits(start) + number_bits(pivot) + (lanes - 1) * width;
        let min_bits = near_bits.min(differences_bits);
        if any & !bits::low_bits(frame.bits) != 0 {
            let range = self.ranges[number];
            let low_address = frame.address(low as u64).min(range.low);
            let high_address = frame.address(high as u64).max(range.high);
            let larger = bits::length(high_address.wrapping_sub(low_address) >> frame.shift);
            // A larger frame pays off later.
            if lanes * larger < min_bits {
                return self.new_frame(number, addresses);
            }
        } else if lanes * frame.bits <= min_bits {
            self.bits.put_all(all, frame.bits);
            return FORM_FRAME;
        }
        if differences_bits < near_bits {
            for difference in &mut *rest {
                *difference = difference.wrapping_sub(min_rest as u64);
            }
            self.bits.put(VALUES_DIFFERENCES, VALUES_KIND_BITS);
            self.number(start);
            self.number(pivot);
            self.row(rest, width);
        } else {
            for coordinate in &mut *all {
                *coordinate = coordinate.wrapping_sub(low as u64);
            }
            self.bits.put(VALUES_NEAR, VALUES_KIND_BITS);
            self.number(from_near);
            self.row(all, near_width);
        }
        FORM_VALUES
    }

    /// Writes addresses of a whole warp, starting with `start`, that are close together but not all in the frame.
    /// Returns `None` if another form might be shorter.
    #[inline(always)]
    pub(super) fn values_close_together(
        &mut self,
        number: usize,
        frame: Frame,
        near: u64,
        start: u64,
        row: Row,
    ) -> Option<u8> {
        let lanes = WARP_LANES as u32;
        let at = frame.coordinate(start);
        if frame.address(at) != start || at.wrapping_add(FAR_AWAY) >= 2 * FAR_AWAY {
            return None;
        }
        let from_middle = |value: u32| at.wrapping_add(i64::from(value as i32 - MIDDLE) as u64);
        let (low, high) = (from_middle(row.low), from_middle(row.high));
        if (low | high) & !bits::low_bits(frame.bits) == 0 {
            return None;
        }
        let (min_rest, max_rest) = (row.min_rest, row.max_rest);
        let width = bits::length(u64::from(max_rest.wrapping_sub(min_rest) as u32));
        let pivot = (i64::from(row.first as i32) + i64::from(min_rest)) as u64;
        let near_width = bits::length(u64::from(row.high - row.low));
        let (from_near, start) = (low.wrapping_sub(near), at.wrapping_sub(near));
        let kind_bits = VALUES_KIND_BITS + WIDTH_BITS;
        let near_bits = kind_bits + number_bits(from_near) + lanes * near_width;
        let differences_bits =
            kind_bits + number_bits(start) + number_bits(pivot) + (lanes - 1) * width;
        let range = self.ranges[number];
        let low_address = frame.address(low).min(range.low);
        let high_address = frame.address(high).max(range.high);
        let larger = bits::length(high_address.wrapping_sub(low_address) >> frame.shift);
        if lanes * larger < near_bits.min(differences_bits) {
            return None;
        }
        if differences_bits < near_bits {
            let mut rest = row.rest.map(|value| value.wrapping_sub(min_rest as u32));
            rest[WARP_LANES - 1] = 0;
            let head = VALUES_DIFFERENCES | u64::from(width) << VALUES_KIND_BITS;
            self.bits.put(head, kind_bits);
            self.number(start);
            self.number(pivot);
            self.bits.put_row(self.avx2, &rest, WARP_LANES - 1, width);
        } else {
            let all = row.all.map(|value| value.wrapping_sub(row.low));
            let head = VALUES_NEAR | u64::from(near_width) << VALUES_KIND_BITS;
            self.bits.put(head, kind_bits);
            self.number(from_near);
            self.bits.put_row(self.avx2, &all, WARP_LANES, near_width);
        }
        Some(FORM_VALUES)
    }

    #[inline(always)]
    fn row<T: Copy + Into<u64>>(&mut self, values: &[T], width: u32) {
        self.bits.put(u64::from(width), WIDTH_BITS);
        self.bits.put_all(values, width);
    }

    #[inline(never)]
    fn new_frame(&mut self, number: usize, addresses: &[u64]) -> u8 {
        let slot = &mut self.state.slots[number];
        let range = self.ranges[number].with(addresses);
        self.ranges[number] = range;
        let frame = range.frame(slot.frame, addresses, slot.width_bytes);
        let old = slot.frame.replace(frame).unwrap_or_default();
        self.number(frame.base.wrapping_sub(old.base));
        self.bits.put(u64::from(frame.shift), WIDTH_BITS);
        self.bits.put(u64::from(frame.bits), WIDTH_BITS);
        let mut coordinates = [0; WARP_LANES];
        for (coordinate, &address) in coordinates.iter_mut().zip(addresses) {
            *coordinate = address.wrapping_sub(frame.base) >> frame.shift;
        }
        self.bits
            .put_all(&coordinates[..addresses.len()], frame.bits);
        FORM_NEW_FRAME
    }
}

/// Returns the size of a signed varint in bits.
#[inline(always)]
pub(super) fn number_bits(number: u64) -> u32 {
    8 * bits::length(zigzag(number as i64) | 1).div_ceil(7)
}
