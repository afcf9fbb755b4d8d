//! Codec of access groups: what a group has in common with earlier ones is left out.
//!
//! Each site remembers its last group. A tag of one byte says how the next one follows from that, and equal tags are counted.
//! Only what follows from nothing is written, in as many bits as it needs. `docs/trace-format.md` gives the layout. Encoder and
//! decoder keep the same [`State`]; a chunk starts with a fresh one, so chunks are decoded independently of each other.

mod bits;
mod decode;
mod encode;
mod model;
mod near;
mod offsets;
mod strays;
mod values;
mod vectors;

pub(crate) use decode::Decoder;
pub(crate) use encode::Encoder;
pub use offsets::Offsets;

const TAG_SITE: u8 = 1;
const PLACE_MASK: u8 = 3 << 1;
const PLACE_SAME: u8 = 0;
/// As far from the last place as that was from the one before.
const PLACE_FURTHER: u8 = 1 << 1;
const PLACE_NEW: u8 = 2 << 1;
const LANES_MASK: u8 = 3 << 3;
/// The slot's last mask.
const LANES_SAME: u8 = 0;
/// That of the group before.
const LANES_BEFORE: u8 = 1 << 3;
/// Some lanes of the slot's last mask.
const LANES_FEWER: u8 = 2 << 3;
const LANES_NEW: u8 = 3 << 3;
const FORM_MASK: u8 = 7 << 5;
/// All lanes moved as far as last time.
const FORM_FURTHER: u8 = 0;
const FORM_MOVE: u8 = 1 << 5;
const FORM_RUN: u8 = 2 << 5;
/// As far from the group before as last time.
const FORM_LINK: u8 = 3 << 5;
const FORM_FRAME: u8 = 4 << 5;
const FORM_VALUES: u8 = 5 << 5;
const FORM_NEW_FRAME: u8 = 6 << 5;
/// All but a few lanes moved equally far.
const FORM_STRAYS: u8 = 7 << 5;

/// In place of a tag: the one before is repeated, and a varint says how often.
const TAG_REPEAT: u8 = PLACE_MASK;

/// How the addresses of [`FORM_VALUES`] are written, in two bits.
const VALUES_FRAME_DIFFERENCES: u64 = 0;
const VALUES_NEAR: u64 = 1;
const VALUES_DIFFERENCES: u64 = 2;
const VALUES_KIND_BITS: u32 = 2;
const WIDTH_BITS: u32 = 7;
/// Bits of the number of strays, and of the index of one among the active lanes.
const STRAYS_BITS: u32 = 5;

/// Lengths of the first three columns, before the columns.
const COLUMNS_HEADER_BYTES: usize = 12;

/// Whether groups with this tag have nothing but the tag.
#[inline(always)]
const fn is_bare(tag: u8) -> bool {
    tag & TAG_SITE == 0
        && matches!(tag & PLACE_MASK, PLACE_SAME | PLACE_FURTHER)
        && matches!(tag & LANES_MASK, LANES_SAME | LANES_BEFORE)
        && matches!(tag & FORM_MASK, FORM_FURTHER | FORM_LINK)
}

#[cfg(test)]
mod near_tests;
#[cfg(test)]
mod tests;
