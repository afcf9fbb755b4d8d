//! State derived from earlier groups, which both the encoder and the decoder keep.

use crate::WARP_LANES;

const NO_SLOT: u32 = u32::MAX;

/// The range of a slot's addresses: `base + (c << shift)` for a coordinate `c` with `bits` bits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Frame {
    pub base: u64,
    pub shift: u32,
    pub bits: u32,
}

impl Frame {
    /// Returns the coordinate of an address. [`address`](Self::address) is the inverse only if no bits below `shift`
    /// are set.
    #[inline(always)]
    pub(super) fn coordinate(&self, address: u64) -> u64 {
        (address.wrapping_sub(self.base) as i64 >> self.shift) as u64
    }

    #[inline(always)]
    pub(super) fn address(&self, coordinate: u64) -> u64 {
        self.base.wrapping_add(coordinate << self.shift)
    }
}

#[derive(Clone, Default)]
pub(super) struct Slot {
    pub site: u32,
    pub width_bytes: u32,
    /// Slot of the group that followed this slot's group last time.
    successor: u32,
    pub mask: u32,
    /// `place_number` of the last group.
    pub place: u32,
    /// Last moves of the addresses: within a place, and to another place.
    pub moves: [u64; 2],
    pub base: u64,
    /// Whether lane *l* is at `base + stride * l` rather than `base + shape[l]`.
    pub is_run: bool,
    pub stride: u64,
    pub shape: [u64; WARP_LANES],
    /// Distance of the last group from the group before it.
    pub link: u64,
    pub frame: Option<Frame>,
}

impl Slot {
    fn new(site: u32, width_bytes: u32) -> Self {
        Slot {
            site,
            width_bytes,
            successor: NO_SLOT,
            mask: u32::MAX,
            is_run: true,
            ..Slot::default()
        }
    }

    #[inline(always)]
    pub(super) fn distance(&self, lane: usize) -> u64 {
        if self.is_run {
            self.stride.wrapping_mul(lane as u64)
        } else {
            self.shape[lane]
        }
    }

    #[inline(always)]
    pub(super) fn set(&mut self, mask: u32, addresses: &[u64]) {
        self.is_run = false;
        self.base = addresses[0];
        if mask == u32::MAX {
            for (distance, address) in self.shape.iter_mut().zip(addresses) {
                *distance = address.wrapping_sub(self.base);
            }
        } else {
            for (lane, address) in lanes(mask).zip(addresses) {
                self.shape[lane] = address.wrapping_sub(self.base);
            }
        }
    }

    /// Writes the addresses of the lanes in `mask` to `out`, without gaps.
    #[inline]
    pub(super) fn addresses(&self, mask: u32, out: &mut [u64; WARP_LANES]) {
        match (mask == u32::MAX, self.is_run) {
            (true, true) => {
                // Avoids multiplications, which AVX2 does not support for 64-bit lanes.
                let (stride, mut first) = (self.stride, self.base);
                let (double, triple) = (stride.wrapping_mul(2), stride.wrapping_mul(3));
                for four in out.as_chunks_mut::<4>().0 {
                    *four = [0, stride, double, triple].map(|step| first.wrapping_add(step));
                    first = first.wrapping_add(stride.wrapping_mul(4));
                }
            }
            (true, false) => {
                for (address, distance) in out.iter_mut().zip(&self.shape) {
                    *address = self.base.wrapping_add(*distance);
                }
            }
            (false, _) => {
                for (address, lane) in out.iter_mut().zip(lanes(mask)) {
                    *address = self.base.wrapping_add(self.distance(lane));
                }
            }
        }
    }
}

/// Scale from one slot's addresses to the addresses of another slot's elements with the same index.
#[derive(Clone, Copy)]
pub(super) struct Scale(i32);

impl Scale {
    #[inline(always)]
    pub(super) fn between(from_width: u32, to_width: u32) -> Self {
        let logarithm = |width: u32| width.trailing_zeros().min(15) as i32;
        Scale(logarithm(to_width) - logarithm(from_width))
    }

    #[inline(always)]
    pub(super) fn apply(self, address: u64) -> u64 {
        if self.0 >= 0 {
            address << self.0
        } else {
            address >> -self.0
        }
    }
}

#[derive(Default)]
pub(super) struct State {
    pub slots: Vec<Slot>,
    pub last: Option<usize>,
    /// Complement of the previous group's mask, so that the default mask is full.
    idle_lanes: u32,
    /// CTA, warp and SM.
    pub place: [u32; 3],
    pub place_moves: [u32; 3],
    /// Number of place changes so far.
    pub place_number: u32,
}

impl State {
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        let slots = std::mem::take(&mut self.slots);
        *self = State {
            slots,
            ..State::default()
        };
    }

    #[inline]
    pub(super) fn expected(&self) -> Option<usize> {
        let successor = self.slots[self.last?].successor;
        (successor != NO_SLOT).then_some(successor as usize)
    }

    pub(super) fn add(&mut self, site: u32, width_bytes: u32) {
        self.slots.push(Slot::new(site, width_bytes));
    }

    /// Makes `slot` the last one, and the expected successor of its predecessor; returns the predecessor.
    #[inline]
    pub(super) fn move_to(&mut self, slot: usize) -> usize {
        let previous = self.last.unwrap_or(slot);
        self.slots[previous].successor = slot as u32;
        self.last = Some(slot);
        previous
    }

    /// Makes the [`expected`](Self::expected) slot the last one; returns its predecessor.
    #[inline]
    pub(super) fn advance_to(&mut self, slot: usize) -> usize {
        self.last.replace(slot).unwrap_or(slot)
    }

    #[inline]
    pub(super) fn set_place(&mut self, place: [u32; 3]) {
        for (index, new) in place.into_iter().enumerate() {
            self.place_moves[index] = new.wrapping_sub(self.place[index]);
        }
        self.place = place;
        self.place_number = self.place_number.wrapping_add(1);
    }

    #[inline]
    pub(super) fn next_place(&self) -> [u32; 3] {
        std::array::from_fn(|index| self.place[index].wrapping_add(self.place_moves[index]))
    }

    #[inline]
    pub(super) fn mask(&self) -> u32 {
        !self.idle_lanes
    }

    #[inline]
    pub(super) fn set_mask(&mut self, slot: usize, mask: u32) {
        self.slots[slot].mask = mask;
        self.idle_lanes = !mask;
    }

    /// Moves the slot to the current place. Returns 0 if it was already there, and 1 otherwise.
    #[inline]
    pub(super) fn arrive(&mut self, slot: usize) -> usize {
        let slot = &mut self.slots[slot];
        let moved = usize::from(slot.place != self.place_number);
        slot.place = self.place_number;
        moved
    }

    /// Returns the source that `slot` links to: the addresses of the previous slot.
    #[inline(always)]
    pub(super) fn source(&self, slot: usize, previous: usize) -> Source {
        let (source, slot) = (&self.slots[previous], &self.slots[slot]);
        let scale = Scale::between(source.width_bytes, slot.width_bytes);
        let lost_bits = scale.0.min(0).unsigned_abs();
        if !source.is_run || (source.base | source.stride).trailing_zeros() < lost_bits {
            return Source::Lanes {
                slot: previous,
                scale,
            };
        }
        let stride = match scale.0 {
            0.. => source.stride << scale.0,
            right => (source.stride as i64 >> -right) as u64,
        };
        Source::Run {
            base: scale.apply(source.base),
            stride,
        }
    }

    /// Returns the address of a lane of `source`, scaled to the linked slot's width.
    #[inline(always)]
    pub(super) fn source_address(&self, source: Source, lane: usize) -> u64 {
        match source {
            Source::Run { base, stride } => base.wrapping_add(stride.wrapping_mul(lane as u64)),
            Source::Lanes { slot, scale } => {
                let slot = &self.slots[slot];
                scale.apply(slot.base.wrapping_add(slot.distance(lane)))
            }
        }
    }

    /// Moves the linked `slot` to `addresses`, and records the distance in `moves[move_index]`.
    #[inline]
    pub(super) fn follow(
        &mut self,
        slot: usize,
        move_index: usize,
        source: Source,
        mask: u32,
        addresses: &[u64],
    ) {
        let slot = &mut self.slots[slot];
        let old = slot.base;
        match source {
            Source::Run { base, stride } => {
                (slot.is_run, slot.stride) = (true, stride);
                slot.base = base.wrapping_add(slot.link);
            }
            Source::Lanes { .. } => slot.set(mask, addresses),
        }
        slot.moves[move_index] = slot.base.wrapping_sub(old);
    }
}

/// Addresses of the previous group, scaled to the width of the linked slot's elements.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Run { base: u64, stride: u64 },
    Lanes { slot: usize, scale: Scale },
}

#[inline(always)]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        let has_lane = rest != 0;
        rest &= rest.wrapping_sub(1);
        has_lane.then_some(lane)
    })
}
