//! Codec for access groups, which omits everything that a group shares with earlier ones.
//!
//! Each site remembers its last group. A one-byte tag says how the next group follows from it, and repeated tags are
//! counted. Only unpredictable data is written, in as few bits as possible. `docs/trace-format.md` gives the layout.
//! The encoder and the decoder keep the same [`State`]; each chunk starts with a fresh one, so chunks are decoded
//! independently of each other.

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
/// The place moved by the same amount as last time.
const PLACE_STEP: u8 = 1 << 1;
const PLACE_NEW: u8 = 2 << 1;
const LANES_MASK: u8 = 3 << 3;
/// The slot's last mask.
const LANES_SAME: u8 = 0;
/// The previous group's mask.
const LANES_PREVIOUS: u8 = 1 << 3;
/// A subset of the slot's last mask.
const LANES_SUBSET: u8 = 2 << 3;
const LANES_NEW: u8 = 3 << 3;
const FORM_MASK: u8 = 7 << 5;
/// All lanes moved by the same distance as last time.
const FORM_STEP: u8 = 0;
const FORM_MOVE: u8 = 1 << 5;
const FORM_RUN: u8 = 2 << 5;
/// Same distance from the previous group as last time.
const FORM_LINK: u8 = 3 << 5;
const FORM_FRAME: u8 = 4 << 5;
const FORM_VALUES: u8 = 5 << 5;
const FORM_NEW_FRAME: u8 = 6 << 5;
/// All but a few lanes moved by the same distance.
const FORM_STRAYS: u8 = 7 << 5;

/// In place of a tag: repeats the previous one. The number of repetitions follows as a varint.
const TAG_REPEAT: u8 = PLACE_MASK;

/// Encodings of the addresses of [`FORM_VALUES`], in two bits.
const VALUES_FRAME_DIFFERENCES: u64 = 0;
const VALUES_NEAR: u64 = 1;
const VALUES_DIFFERENCES: u64 = 2;
const VALUES_KIND_BITS: u32 = 2;
const WIDTH_BITS: u32 = 7;
/// Bits for the number of strays, and for a stray's index among the active lanes.
const STRAYS_BITS: u32 = 5;

/// Size of the header, which contains the lengths of the first three columns.
const COLUMNS_HEADER_BYTES: usize = 12;

/// Returns whether groups with this tag consist of the tag alone.
#[inline(always)]
const fn is_bare(tag: u8) -> bool {
    tag & TAG_SITE == 0
        && matches!(tag & PLACE_MASK, PLACE_SAME | PLACE_STEP)
        && matches!(tag & LANES_MASK, LANES_SAME | LANES_PREVIOUS)
        && matches!(tag & FORM_MASK, FORM_STEP | FORM_LINK)
}

#[cfg(test)]
mod near_tests;
#[cfg(test)]
mod tests;
