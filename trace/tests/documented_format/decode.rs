//! Reads the access groups in a chunk as documented.

use super::common::documented::{Bytes, number};
use superstep_trace::{AccessGroup, SiteId};

/// The bit column, lowest bit first.
struct Bits<'a>(&'a [u8], usize);

impl Bits<'_> {
    fn take(&mut self, width: u64) -> u64 {
        (0..width).fold(0, |value, bit| {
            let index = self.1;
            self.1 += 1;
            value | u64::from(self.0[index / 8] >> (index % 8) & 1) << bit
        })
    }
}

#[derive(Clone)]
struct Slot {
    site: u32,
    width: u32,
    successor: Option<usize>,
    mask: u32,
    base: u64,
    is_run: bool,
    stride: u64,
    distances: [u64; 32],
    moves: [u64; 2],
    place_number: u32,
    link: u64,
    /// Base, shift and bits.
    frame: Option<(u64, u64, u64)>,
}

impl Slot {
    fn address(&self, lane: usize) -> u64 {
        let run_distance = self.stride.wrapping_mul(lane as u64);
        let distance = if self.is_run {
            run_distance
        } else {
            self.distances[lane]
        };
        self.base.wrapping_add(distance)
    }

    fn set(&mut self, addresses: &[(usize, u64)]) {
        self.is_run = false;
        self.base = addresses[0].1;
        for &(lane, address) in addresses {
            self.distances[lane] = address.wrapping_sub(self.base);
        }
    }

    /// Returns the slot scaled for `width`.
    fn as_source(&self, width: u32) -> Slot {
        let logarithm = |width: u32| width.trailing_zeros().min(15) as i32;
        let k = logarithm(width) - logarithm(self.width);
        let left = |x: u64| if k < 0 { x >> -k } else { x << k };
        let mut scaled = self.clone();
        if self.is_run
            && (k >= 0
                || left(self.base) << -k == self.base && left(self.stride) << -k == self.stride)
        {
            scaled.base = left(self.base);
            scaled.stride = if k < 0 {
                (self.stride as i64 >> -k) as u64
            } else {
                left(self.stride)
            };
        } else {
            let all: Vec<_> = (0..32)
                .map(|lane| (lane, left(self.address(lane))))
                .collect();
            scaled.set(&all);
        }
        scaled
    }
}

fn lanes(mask: u32) -> Vec<usize> {
    (0..32).filter(|lane| mask >> lane & 1 != 0).collect()
}

pub fn decode(payload: &[u8]) -> Vec<AccessGroup> {
    let mut columns = Vec::new();
    let mut rest = &payload[12..];
    for length in payload[..12].chunks(4) {
        let (column, after) = rest.split_at(number(length) as usize);
        columns.push(Bytes(column));
        rest = after;
    }
    let [mut tags, mut places, mut numbers] = <[_; 3]>::try_from(columns).ok().unwrap();
    let mut bits = Bits(rest, 0);
    let (mut slots, mut groups) = (Vec::<Slot>::new(), Vec::new());
    let (mut last, mut last_mask, mut last_tag) = (None::<usize>, u32::MAX, 0);
    let (mut place, mut step, mut place_number) = ([0u32; 3], [0u32; 3], 0);
    let mut repeated = 0;
    while repeated > 0 || !tags.0.is_empty() {
        if repeated == 0 {
            match tags.take(1) {
                6 => repeated = tags.varint(),
                tag => (last_tag, repeated) = (tag, 1),
            }
        }
        repeated -= 1;
        let tag = last_tag;
        let number = if tag & 1 == 0 {
            slots[last.unwrap()].successor.unwrap()
        } else {
            let slot = places.varint() as usize;
            if slot == slots.len() {
                slots.push(Slot {
                    site: places.varint() as u32,
                    width: places.varint() as u32,
                    successor: None,
                    mask: u32::MAX,
                    base: 0,
                    is_run: true,
                    stride: 0,
                    distances: [0; 32],
                    moves: [0; 2],
                    place_number: 0,
                    link: 0,
                    frame: None,
                });
            }
            slot
        };
        let previous = last.unwrap_or(number);
        slots[previous].successor = Some(number);
        last = Some(number);
        match tag >> 1 & 3 {
            0 => {}
            kind => {
                if kind == 2 {
                    step = step.map(|_| places.signed() as u32);
                }
                place = std::array::from_fn(|i| place[i].wrapping_add(step[i]));
                place_number += 1;
            }
        }
        let subset = |bits: &mut Bits<'_>, all: u32| {
            let taken = lanes(all).into_iter().filter(|_| bits.take(1) == 1);
            taken.fold(0, |mask, lane| mask | 1 << lane)
        };
        let mask = match tag >> 3 & 3 {
            0 => slots[number].mask,
            1 => last_mask,
            2 => subset(&mut bits, slots[number].mask),
            _ if bits.take(1) == 0 => subset(&mut bits, last_mask),
            _ => bits.take(32) as u32,
        };
        let source = slots[previous].as_source(slots[number].width);
        let slot = &mut slots[number];
        (slot.mask, last_mask) = (mask, mask);
        let move_index = usize::from(slot.place_number != place_number);
        slot.place_number = place_number;
        let active = lanes(mask);
        let mut signed = || numbers.signed();
        match tag >> 5 {
            0 => slot.base = slot.base.wrapping_add(slot.moves[move_index]),
            1 => {
                slot.moves[move_index] = signed();
                slot.base = slot.base.wrapping_add(slot.moves[move_index]);
            }
            2 => {
                slot.base = slot.base.wrapping_add(signed());
                (slot.is_run, slot.stride) = (true, signed());
            }
            3 => {
                let old = slot.base;
                let linked = |&lane: &usize| (lane, source.address(lane).wrapping_add(slot.link));
                let addresses: Vec<_> = active.iter().map(linked).collect();
                if source.is_run {
                    (slot.is_run, slot.stride) = (true, source.stride);
                    slot.base = source.base.wrapping_add(slot.link);
                } else {
                    slot.set(&addresses);
                }
                slot.moves[move_index] = slot.base.wrapping_sub(old);
            }
            7 => {
                let (is_new, count, size) = (bits.take(1), bits.take(5), bits.take(7));
                if is_new == 1 {
                    slot.moves[move_index] = signed();
                }
                let moved = |&lane: &usize| slot.address(lane).wrapping_add(slot.moves[move_index]);
                let mut all: Vec<_> = active.iter().map(moved).collect();
                let shift = slot.frame.map_or(0, |frame| frame.1);
                for _ in 0..count {
                    let (index, deviation) = (bits.take(5), bits.take(size));
                    let deviation = deviation >> 1 ^ (deviation & 1).wrapping_neg();
                    let address = &mut all[index as usize];
                    *address = address.wrapping_add(deviation << shift);
                }
                slot.set(&active.iter().copied().zip(all).collect::<Vec<_>>());
            }
            form => {
                if form == 6 {
                    let old = slot.frame.map_or(0, |frame| frame.0);
                    slot.frame = Some((old.wrapping_add(signed()), bits.take(7), bits.take(7)));
                }
                let (base, shift, size) = slot.frame.unwrap();
                let near = (slot.base.wrapping_sub(base) as i64 >> shift) as u64;
                let modulus = |x: u64| if size == 64 { x } else { x & ((1 << size) - 1) };
                let kind = if form == 5 { bits.take(2) } else { 3 };
                let mut cs = Vec::new();
                match kind {
                    1 => {
                        let low = near.wrapping_add(signed());
                        let width = bits.take(7);
                        cs.extend(active.iter().map(|_| low.wrapping_add(bits.take(width))));
                    }
                    3 => cs.extend(active.iter().map(|_| bits.take(size))),
                    _ => {
                        let (start, pivot) = match kind {
                            0 => (bits.take(size), bits.take(size)),
                            _ => (near.wrapping_add(signed()), signed()),
                        };
                        let width = bits.take(7);
                        cs.push(start);
                        for index in 1..active.len() {
                            let c = cs[index - 1]
                                .wrapping_add(pivot)
                                .wrapping_add(bits.take(width));
                            cs.push(if kind == 0 { modulus(c) } else { c });
                        }
                    }
                }
                let address = |(&lane, c): (&usize, u64)| (lane, base.wrapping_add(c << shift));
                slot.set(&active.iter().zip(cs).map(address).collect::<Vec<_>>());
            }
        }
        let mut addresses = [0u64; 32];
        for (address, &lane) in addresses.iter_mut().zip(&active) {
            *address = slot.address(lane);
        }
        if !matches!(tag >> 5, 0 | 3) {
            slot.link = addresses[0].wrapping_sub(source.address(active[0]));
        }
        let [cta, warp, sm] = place;
        groups.push(AccessGroup {
            site: SiteId(slot.site),
            cta,
            warp,
            sm,
            mask,
            width_bytes: slot.width,
            addresses,
        });
    }
    assert!(places.0.is_empty() && numbers.0.is_empty());
    assert_eq!(bits.1.div_ceil(8), bits.0.len());
    groups
}
