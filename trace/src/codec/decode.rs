//! Decodes access groups.

use super::bits::{self, BitReader};
use super::model::{Frame, State, lanes};
use super::*;
use crate::varint::{self, unzigzag};
use crate::{AccessGroup, SiteId};

#[derive(Default)]
pub(crate) struct Decoder {
    state: State,
    /// Positions of the next tag, place and number.
    at: [usize; 3],
    /// Ends of the tags, places and numbers.
    ends: [usize; 3],
    bits: BitReader,
    bits_start: usize,
    tag: Option<u8>,
    repeated: u64,
}

impl Decoder {
    /// Starts decoding `payload`; returns `None` if it is too short.
    pub(crate) fn begin(&mut self, payload: &[u8]) -> Option<()> {
        let mut end = COLUMNS_HEADER_BYTES;
        let (lengths, _) = payload.get(..end)?.as_chunks::<4>();
        for (index, &length) in lengths.iter().enumerate() {
            self.at[index] = end;
            end = end.checked_add(u32::from_le_bytes(length) as usize)?;
            self.ends[index] = end;
        }
        self.state.clear();
        (self.tag, self.repeated) = (None, 0);
        (self.bits, self.bits_start) = (BitReader::default(), end);
        (end <= payload.len()).then_some(())
    }

    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.repeated > 0 || self.at[0] < self.ends[0]
    }

    pub(crate) fn is_at_end(&self, payload: &[u8]) -> bool {
        self.at == self.ends
            && self.repeated == 0
            && self.bits.is_at_end(&payload[self.bits_start..])
    }

    pub(crate) fn decode(&mut self, payload: &[u8], group: &mut AccessGroup) -> Option<()> {
        let tag = self.tag(payload)?;
        let number = match tag & TAG_SITE {
            0 => self.state.expected()?,
            _ => self.site(payload)?,
        };
        let previous = self.state.move_to(number);
        match tag & PLACE_MASK {
            PLACE_SAME => {}
            PLACE_STEP => self.state.set_place(self.state.next_place()),
            PLACE_NEW => self.place(payload)?,
            _ => return None,
        }
        [group.cta, group.warp, group.sm] = self.state.place;
        let mask = match tag & LANES_MASK {
            LANES_SAME => self.state.slots[number].mask,
            LANES_PREVIOUS => self.state.mask(),
            kind => self.mask(payload, number, kind)?,
        };
        self.state.set_mask(number, mask);
        let slot = &self.state.slots[number];
        (group.site, group.mask, group.width_bytes) = (SiteId(slot.site), mask, slot.width_bytes);
        if mask == 0 {
            return None;
        }
        let move_index = self.state.arrive(number);
        let form = tag & FORM_MASK;
        if form == FORM_STEP {
            let slot = &mut self.state.slots[number];
            slot.base = slot.base.wrapping_add(slot.moves[move_index]);
            slot.addresses(mask, &mut group.addresses);
            return Some(());
        }
        self.form(payload, form, [number, previous, move_index], group)
    }

    #[inline]
    fn tag(&mut self, payload: &[u8]) -> Option<u8> {
        if self.repeated > 0 {
            self.repeated -= 1;
            return self.tag;
        }
        let tags = &payload[..self.ends[0]];
        let tag = *tags.get(self.at[0])?;
        self.at[0] += 1;
        if tag != TAG_REPEAT {
            self.tag = Some(tag);
            return self.tag;
        }
        self.tag = self.tag.filter(|&tag| is_bare(tag));
        self.repeated = varint::get(tags, &mut self.at[0])?.checked_sub(1)?;
        self.tag
    }

    fn varint(&mut self, payload: &[u8], column: usize) -> Option<u64> {
        varint::get(&payload[..self.ends[column]], &mut self.at[column])
    }

    fn site(&mut self, payload: &[u8]) -> Option<usize> {
        let slot = usize::try_from(self.varint(payload, 1)?).ok()?;
        if slot == self.state.slots.len() {
            let site = u32::try_from(self.varint(payload, 1)?).ok()?;
            let width_bytes = u32::try_from(self.varint(payload, 1)?).ok()?;
            self.state.add(site, width_bytes);
        }
        (slot < self.state.slots.len()).then_some(slot)
    }

    fn place(&mut self, payload: &[u8]) -> Option<()> {
        let mut place = self.state.place;
        for number in &mut place {
            let moved = unzigzag(self.varint(payload, 1)?);
            *number = u32::try_from(i64::from(*number).checked_add(moved)?).ok()?;
        }
        self.state.set_place(place);
        Some(())
    }

    fn mask(&mut self, payload: &[u8], number: usize, kind: u8) -> Option<u32> {
        let bytes = &payload[self.bits_start..];
        let all = if kind == LANES_SUBSET {
            self.state.slots[number].mask
        } else if self.bits.get(bytes, 1)? == 0 {
            self.state.mask()
        } else {
            return Some(self.bits.get(bytes, 32)? as u32);
        };
        let subset = self.bits.get(bytes, all.count_ones())?;
        let mut mask = 0;
        for (index, lane) in lanes(all).enumerate() {
            mask |= ((subset >> index & 1) as u32) << lane;
        }
        Some(mask)
    }

    fn number(&mut self, payload: &[u8]) -> Option<u64> {
        Some(unzigzag(self.varint(payload, 2)?) as u64)
    }

    /// Reads any form except [`FORM_STEP`], given the slot, the previous slot, and the slot's move index.
    fn form(
        &mut self,
        payload: &[u8],
        form: u8,
        [number, previous, move_index]: [usize; 3],
        group: &mut AccessGroup,
    ) -> Option<()> {
        let (mask, lanes_count) = (group.mask, group.lanes());
        let source = self.state.source(number, previous);
        if form == FORM_LINK {
            let link = self.state.slots[number].link;
            for (lane, address) in lanes(mask).zip(&mut group.addresses) {
                *address = self.state.source_address(source, lane).wrapping_add(link);
            }
            let addresses = &group.addresses[..lanes_count];
            self.state
                .follow(number, move_index, source, mask, addresses);
            return Some(());
        }
        let first_lane = mask.trailing_zeros() as usize;
        let origin = self.state.source_address(source, first_lane);
        match form {
            FORM_MOVE => {
                let moved = self.number(payload)?;
                let slot = &mut self.state.slots[number];
                slot.moves[move_index] = moved;
                slot.base = slot.base.wrapping_add(moved);
                slot.addresses(mask, &mut group.addresses);
            }
            FORM_RUN => {
                let (moved, stride) = (self.number(payload)?, self.number(payload)?);
                let slot = &mut self.state.slots[number];
                (slot.is_run, slot.stride) = (true, stride);
                slot.base = slot.base.wrapping_add(moved);
                slot.addresses(mask, &mut group.addresses);
            }
            _ => {
                if form == FORM_STRAYS {
                    self.strays(payload, [number, move_index], group)?;
                } else {
                    let addresses = &mut group.addresses[..lanes_count];
                    self.values(payload, form, number, addresses)?;
                }
                let addresses = &group.addresses[..lanes_count];
                self.state.slots[number].set(mask, addresses);
            }
        }
        self.state.slots[number].link = group.addresses[0].wrapping_sub(origin);
        Some(())
    }

    /// Moves all lanes, and reads the deviations of those that moved differently.
    fn strays(
        &mut self,
        payload: &[u8],
        [number, move_index]: [usize; 2],
        group: &mut AccessGroup,
    ) -> Option<()> {
        let bytes = &payload[self.bits_start..];
        let is_new = self.bits.get(bytes, 1)? != 0;
        let count = self.bits.get(bytes, STRAYS_BITS)?;
        let width = self.bits.get(bytes, WIDTH_BITS)? as u32;
        if width > 64 {
            return None;
        }
        if is_new {
            self.state.slots[number].moves[move_index] = self.number(payload)?;
        }
        let slot = &mut self.state.slots[number];
        let shift = slot.frame.map_or(0, |frame| frame.shift);
        slot.base = slot.base.wrapping_add(slot.moves[move_index]);
        slot.addresses(group.mask, &mut group.addresses);
        let addresses = &mut group.addresses[..group.mask.count_ones() as usize];
        for _ in 0..count {
            let index = self.bits.get(bytes, STRAYS_BITS)? as usize;
            let deviation = unzigzag(self.bits.get(bytes, width)?) as u64;
            let address = addresses.get_mut(index)?;
            *address = address.wrapping_add(deviation << shift);
        }
        Some(())
    }

    fn values(
        &mut self,
        payload: &[u8],
        form: u8,
        number: usize,
        addresses: &mut [u64],
    ) -> Option<()> {
        let bytes = &payload[self.bits_start..];
        if form == FORM_NEW_FRAME {
            let moved = self.number(payload)?;
            let shift = self.bits.get(bytes, WIDTH_BITS)? as u32;
            let bits = self.bits.get(bytes, WIDTH_BITS)? as u32;
            let old = self.state.slots[number].frame.unwrap_or_default();
            let base = old.base.wrapping_add(moved);
            let frame = Frame { base, shift, bits };
            self.state.slots[number].frame = (shift < 64 && bits <= 64).then_some(frame);
        }
        let slot = &self.state.slots[number];
        let (frame, near) = (slot.frame?, slot.base);
        match form {
            FORM_NEW_FRAME | FORM_FRAME => self.bits.get_all(bytes, frame.bits, addresses)?,
            FORM_VALUES => {
                let near = frame.coordinate(near);
                match self.bits.get(bytes, VALUES_KIND_BITS)? {
                    VALUES_FRAME_DIFFERENCES => {
                        let start = self.bits.get(bytes, frame.bits)?;
                        let pivot = self.bits.get(bytes, frame.bits)?;
                        let modulus = bits::low_bits(frame.bits);
                        self.differences(bytes, start, pivot, modulus, addresses)?;
                    }
                    VALUES_NEAR => {
                        let low = self.number(payload)?.wrapping_add(near);
                        self.row(bytes, addresses)?;
                        for address in addresses.iter_mut() {
                            *address = address.wrapping_add(low);
                        }
                    }
                    VALUES_DIFFERENCES => {
                        let start = self.number(payload)?.wrapping_add(near);
                        let pivot = self.number(payload)?;
                        self.differences(bytes, start, pivot, u64::MAX, addresses)?;
                    }
                    _ => return None,
                }
            }
            _ => return None,
        }
        for address in addresses {
            *address = frame.address(*address);
        }
        Some(())
    }

    /// Reads a width and a list of values of that width.
    fn row(&mut self, bytes: &[u8], out: &mut [u64]) -> Option<()> {
        let width = self.bits.get(bytes, WIDTH_BITS)? as u32;
        (width <= 64).then(|| self.bits.get_all(bytes, width, out))?
    }

    fn differences(
        &mut self,
        bytes: &[u8],
        start: u64,
        pivot: u64,
        modulus: u64,
        out: &mut [u64],
    ) -> Option<()> {
        self.row(bytes, &mut out[1..])?;
        out[0] = start;
        let mut last = start;
        for coordinate in &mut out[1..] {
            last = last.wrapping_add(pivot).wrapping_add(*coordinate) & modulus;
            *coordinate = last;
        }
        Some(())
    }
}
