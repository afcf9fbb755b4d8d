//! The codec of streams up to version 5, which are still read. Only tests write them.

use crate::varint::{self, unzigzag};
use crate::{AccessGroup, SiteId, WARP_LANES};

const TAG_SITE: u8 = 1 << 0;
const TAG_PLACE: u8 = 1 << 1;
const TAG_MASK: u8 = 1 << 2;
const TAG_WIDTH: u8 = 1 << 3;
const FORM_MASK: u8 = 3 << 4;
const FORM_SAME: u8 = 0;
const FORM_STRIDE: u8 = 1 << 4;
const FORM_DELTAS: u8 = 2 << 4;
const DELTA_SIZE_SHIFT: u8 = 6;

const NO_SLOT: u32 = u32::MAX;

/// What is remembered of a site's previous group.
#[derive(Clone)]
struct Slot {
    site: u32,
    /// The slot whose group came after this one's last time.
    successor: u32,
    mask: u32,
    width_bytes: u32,
    base: u64,
    /// How many entries of `shape` are meaningful.
    shape_lanes: u32,
    /// Address of each active lane less that of the first one.
    shape: [u64; WARP_LANES],
}

impl Slot {
    fn new(site: u32) -> Self {
        Slot {
            site,
            successor: NO_SLOT,
            mask: u32::MAX,
            width_bytes: 0,
            base: 0,
            shape_lanes: WARP_LANES as u32,
            shape: [0; WARP_LANES],
        }
    }

    fn set_stride(&mut self, stride: u64) {
        for (lane, delta) in self.shape.iter_mut().enumerate() {
            *delta = stride.wrapping_mul(lane as u64);
        }
        self.shape_lanes = WARP_LANES as u32;
    }
}

/// Memory that encoder and decoder share.
#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    last: Option<usize>,
    cta: u32,
    warp: u32,
    sm: u32,
}

impl State {
    fn clear(&mut self) {
        self.slots.clear();
        (self.last, self.cta, self.warp, self.sm) = (None, 0, 0, 0);
    }

    #[inline]
    fn expected(&self) -> Option<usize> {
        let successor = self.slots[self.last?].successor;
        (successor != NO_SLOT).then_some(successor as usize)
    }

    #[inline]
    fn moved_to(&mut self, slot: usize) {
        if let Some(last) = self.last {
            self.slots[last].successor = slot as u32;
        }
        self.last = Some(slot);
    }
}

#[derive(Default)]
pub(crate) struct Decoder {
    state: State,
}

impl Decoder {
    /// Forgets everything, as at the start of a chunk.
    pub(crate) fn clear(&mut self) {
        self.state.clear();
    }

    /// Reads the group at `*at` into `group`; `None` when the bytes are not those of a group.
    #[inline]
    pub(crate) fn decode(
        &mut self,
        bytes: &[u8],
        at: &mut usize,
        group: &mut AccessGroup,
    ) -> Option<()> {
        let state = &mut self.state;
        let tag = *bytes.get(*at)?;
        *at += 1;
        let slot = if tag & TAG_SITE == 0 {
            state.expected()?
        } else {
            let slot = usize::try_from(varint::get(bytes, at)?).ok()?;
            if slot == state.slots.len() {
                let site = u32::try_from(varint::get(bytes, at)?).ok()?;
                state.slots.push(Slot::new(site));
            } else if slot > state.slots.len() {
                return None;
            }
            slot
        };
        state.moved_to(slot);

        if tag & TAG_PLACE != 0 {
            state.cta = advance(state.cta, varint::get(bytes, at)?)?;
            state.warp = advance(state.warp, varint::get(bytes, at)?)?;
            state.sm = advance(state.sm, varint::get(bytes, at)?)?;
        }
        (group.cta, group.warp, group.sm) = (state.cta, state.warp, state.sm);

        let slot = &mut state.slots[slot];
        if tag & TAG_MASK != 0 {
            slot.mask = u32::from_le_bytes(bytes.get(*at..*at + 4)?.try_into().ok()?);
            *at += 4;
        }
        if tag & TAG_WIDTH != 0 {
            slot.width_bytes = u32::try_from(varint::get(bytes, at)?).ok()?;
        }
        (group.site, group.mask, group.width_bytes) =
            (SiteId(slot.site), slot.mask, slot.width_bytes);

        let form = tag & FORM_MASK;
        let size_log2 = tag >> DELTA_SIZE_SHIFT;
        if size_log2 != 0 && form != FORM_DELTAS {
            return None;
        }
        let lanes = group.lanes();
        if lanes == 0 {
            return (form == FORM_SAME).then_some(());
        }
        let base = slot
            .base
            .wrapping_add(unzigzag(varint::get(bytes, at)?) as u64);
        slot.base = base;
        match form {
            FORM_SAME if lanes > slot.shape_lanes as usize => return None,
            FORM_SAME => {}
            FORM_STRIDE => slot.set_stride(unzigzag(varint::get(bytes, at)?) as u64),
            FORM_DELTAS => {
                let size = 1 << size_log2;
                let packed = bytes.get(*at..*at + (lanes - 1) * size)?;
                *at += packed.len();
                get_deltas(packed, size, &mut slot.shape);
                slot.shape_lanes = lanes as u32;
            }
            _ => return None,
        }
        for (address, delta) in group.addresses.iter_mut().zip(&slot.shape) {
            *address = base.wrapping_add(*delta);
        }
        Some(())
    }
}

#[inline]
fn advance(old: u32, coded: u64) -> Option<u32> {
    u32::try_from(i64::from(old).checked_add(unzigzag(coded))?).ok()
}

/// Sums differences of neighbours up into a shape.
fn get_deltas(packed: &[u8], size: usize, shape: &mut [u64; WARP_LANES]) {
    let mut sum = 0u64;
    shape[0] = 0;
    for (delta, out) in packed.chunks_exact(size).zip(&mut shape[1..]) {
        let mut word = [if delta[size - 1] >= 0x80 { 0xff } else { 0 }; 8];
        word[..size].copy_from_slice(delta);
        sum = sum.wrapping_add(u64::from_le_bytes(word));
        *out = sum;
    }
}

#[cfg(test)]
#[path = "version_2_tests.rs"]
pub(super) mod tests;
