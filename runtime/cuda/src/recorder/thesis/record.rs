//! A thread's access in the form that the device writes: 24 bytes, or three words.

use superstep_trace::SiteId;

/// Mask of the thread's index within the CTA, which is in the low bits of [`Record::detail`].
pub const THREAD_MASK: u64 = 0x3ff;
pub const SM_SHIFT: u32 = 10;
/// Mask of the SM's number.
pub const SM_MASK: u64 = 0xfff;
/// Shift of the number of records in the access group, minus one (5 bits).
pub const GROUP_SHIFT: u32 = 22;
/// Shift of the bit that is 1 in the first use of a slot, 0 in the second, and so on.
pub const LAP_SHIFT: u32 = 30;
/// Shift of the bit that marks the first record of an access group.
pub const LEADER_SHIFT: u32 = 31;
/// Shift of the access width in bytes (a 32-bit field).
pub const WIDTH_SHIFT: u32 = 32;

/// A record in the buffer; `device/context.h` has the same structure.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Linear CTA index in the high 32 bits, site in the low 32 bits.
    pub cta_site: u64,
    pub address: u64,
    /// The other fields; see the constants in this module.
    pub detail: u64,
}

impl Record {
    pub fn cta(&self) -> u32 {
        (self.cta_site >> 32) as u32
    }

    pub fn site(&self) -> SiteId {
        SiteId(self.cta_site as u32)
    }

    pub fn width_bytes(&self) -> u32 {
        (self.detail >> WIDTH_SHIFT) as u32
    }

    /// Returns the thread's index within the CTA, 0–1023.
    pub fn thread(&self) -> u32 {
        (self.detail & THREAD_MASK) as u32
    }

    pub fn sm(&self) -> u32 {
        (self.detail >> SM_SHIFT & SM_MASK) as u32
    }

    pub fn is_leader(&self) -> bool {
        self.detail >> LEADER_SHIFT & 1 != 0
    }

    /// Returns the number of records in the access group, 1–32.
    pub fn group(&self) -> u32 {
        (self.detail >> GROUP_SHIFT & 31) as u32 + 1
    }

    /// Returns whether this is an odd use of the slot (the first, the third, …).
    pub fn odd_lap(&self) -> bool {
        self.detail >> LAP_SHIFT & 1 != 0
    }
}

#[cfg(test)]
pub mod tests;
