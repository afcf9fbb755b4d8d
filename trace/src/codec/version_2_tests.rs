//! The encoder of version 2, and what it writes read back.

use super::*;
use crate::varint::zigzag;
use rustc_hash::FxHashMap;

/// No group of this encoding is longer.
const MAX_GROUP_BYTES: usize = 320;

#[derive(Default)]
pub(in super::super) struct Encoder {
    state: State,
    slot_of: FxHashMap<u32, u32>,
}

impl Encoder {
    pub(in super::super) fn encode(&mut self, group: &AccessGroup, out: &mut Vec<u8>) {
        let mut bytes = [0u8; MAX_GROUP_BYTES];
        let mut at = 1;
        let mut tag = 0;
        let state = &mut self.state;

        let slot = match state.expected() {
            Some(expected) if state.slots[expected].site == group.site.0 => expected,
            _ => {
                tag |= TAG_SITE;
                let next = state.slots.len() as u32;
                let slot = *self.slot_of.entry(group.site.0).or_insert(next);
                at = varint::put(&mut bytes, at, u64::from(slot));
                if slot == next {
                    state.slots.push(Slot::new(group.site.0));
                    at = varint::put(&mut bytes, at, u64::from(group.site.0));
                }
                slot as usize
            }
        };
        state.moved_to(slot);

        if (state.cta, state.warp, state.sm) != (group.cta, group.warp, group.sm) {
            tag |= TAG_PLACE;
            at = varint::put(&mut bytes, at, difference(group.cta, state.cta));
            at = varint::put(&mut bytes, at, difference(group.warp, state.warp));
            at = varint::put(&mut bytes, at, difference(group.sm, state.sm));
            (state.cta, state.warp, state.sm) = (group.cta, group.warp, group.sm);
        }

        let slot = &mut state.slots[slot];
        if slot.mask != group.mask {
            tag |= TAG_MASK;
            bytes[at..at + 4].copy_from_slice(&group.mask.to_le_bytes());
            at += 4;
            slot.mask = group.mask;
        }
        if slot.width_bytes != group.width_bytes {
            tag |= TAG_WIDTH;
            at = varint::put(&mut bytes, at, u64::from(group.width_bytes));
            slot.width_bytes = group.width_bytes;
        }

        let addresses = group.active_addresses();
        if let Some(&base) = addresses.first() {
            at = varint::put(&mut bytes, at, zigzag(base.wrapping_sub(slot.base) as i64));
            slot.base = base;
            if !(addresses.len() <= slot.shape_lanes as usize
                && has_shape(addresses, base, &slot.shape))
            {
                let stride = addresses[1].wrapping_sub(base);
                if is_arithmetic(addresses, base, stride) {
                    tag |= FORM_STRIDE;
                    at = varint::put(&mut bytes, at, zigzag(stride as i64));
                    slot.set_stride(stride);
                } else {
                    tag |= FORM_DELTAS;
                    let size_log2 = put_deltas(&mut bytes, &mut at, addresses);
                    tag |= size_log2 << DELTA_SIZE_SHIFT;
                    slot.shape_lanes = addresses.len() as u32;
                    for (delta, &address) in slot.shape.iter_mut().zip(addresses) {
                        *delta = address.wrapping_sub(base);
                    }
                }
            }
        }
        bytes[0] = tag;
        out.extend_from_slice(&bytes[..at]);
    }
}

#[inline]
fn difference(new: u32, old: u32) -> u64 {
    zigzag(i64::from(new) - i64::from(old))
}

#[inline]
fn has_shape(addresses: &[u64], base: u64, shape: &[u64; WARP_LANES]) -> bool {
    let differences = addresses
        .iter()
        .zip(shape)
        .fold(0, |all, (&address, &delta)| {
            all | (address.wrapping_sub(base) ^ delta)
        });
    differences == 0
}

#[inline]
fn is_arithmetic(addresses: &[u64], base: u64, stride: u64) -> bool {
    let differences = addresses
        .iter()
        .enumerate()
        .fold(0, |all, (lane, &address)| {
            all | (address.wrapping_sub(base) ^ stride.wrapping_mul(lane as u64))
        });
    differences == 0
}

/// Writes the differences of neighbours in the smallest of 1, 2, 4 or 8 bytes that holds all; returns the size's logarithm.
fn put_deltas(bytes: &mut [u8], at: &mut usize, addresses: &[u64]) -> u8 {
    let deltas = || {
        addresses
            .windows(2)
            .map(|pair| pair[1].wrapping_sub(pair[0]) as i64)
    };
    let magnitude = deltas().fold(0, |all, delta| all | zigzag(delta));
    let size_log2 = match magnitude {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        0x1_0000..=0xffff_ffff => 2,
        _ => 3,
    };
    let size = 1 << size_log2;
    for delta in deltas() {
        bytes[*at..*at + size].copy_from_slice(&delta.to_le_bytes()[..size]);
        *at += size;
    }
    size_log2
}
