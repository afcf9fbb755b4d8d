//! One thread's access as the device writes it: 24 bytes, three words.

/// The thread's number in the CTA, in the low bits of [`Record::detail`].
pub const THREAD_MASK: u64 = 0x3ff;
pub const SM_SHIFT: u32 = 10;
/// SM numbers fit into this mask.
pub const SM_MASK: u64 = 0xfff;
/// Records of the access group, less one: 5 bits.
pub const GROUP_SHIFT: u32 = 22;
/// 1 in the first use of a slot, 0 in the second, and so on.
pub const LAP_SHIFT: u32 = 30;
/// First record of its access group.
pub const LEADER_SHIFT: u32 = 31;
/// Width of the access in bytes: 32 bits.
pub const WIDTH_SHIFT: u32 = 32;

/// A record in the buffer; `device/context.h` has the same structure.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Linear CTA number in the high 32 bits, site in the low ones.
    pub cta_site: u64,
    pub address: u64,
    /// The rest; see the constants of this module.
    pub detail: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Linear CTA number.
    pub cta: u32,
    pub site: u32,
    pub address: u64,
    pub width_bytes: u32,
    /// Thread number in the CTA, 0–1023.
    pub thread: u32,
    /// SM number, 0–4095.
    pub sm: u32,
    /// Records of the access group that this one belongs to, 1–32.
    pub group: u32,
    /// Whether it is the group's first.
    pub leader: bool,
    /// Whether the slot is used for the first, third, fifth … time.
    pub odd_lap: bool,
}

impl Record {
    /// Packs `fields` as the device does.
    #[cfg(test)]
    pub fn pack(fields: &Fields) -> Self {
        let low = u64::from(fields.thread & 0x3ff)
            | (u64::from(fields.sm) & SM_MASK) << SM_SHIFT
            | u64::from(fields.group.wrapping_sub(1) & 31) << GROUP_SHIFT
            | u64::from(fields.odd_lap) << LAP_SHIFT
            | u64::from(fields.leader) << LEADER_SHIFT;
        Record {
            cta_site: u64::from(fields.cta) << 32 | u64::from(fields.site),
            address: fields.address,
            detail: u64::from(fields.width_bytes) << WIDTH_SHIFT | low,
        }
    }

    /// The fields packed into this record.
    pub fn unpack(&self) -> Fields {
        let low = self.detail & u64::from(u32::MAX);
        Fields {
            cta: (self.cta_site >> 32) as u32,
            site: self.cta_site as u32,
            address: self.address,
            width_bytes: (self.detail >> WIDTH_SHIFT) as u32,
            thread: (low & THREAD_MASK) as u32,
            sm: (low >> SM_SHIFT & SM_MASK) as u32,
            group: self.group(),
            leader: self.is_leader(),
            odd_lap: self.odd_lap(),
        }
    }

    /// Whether the record is the first of its access group.
    pub fn is_leader(&self) -> bool {
        self.detail >> LEADER_SHIFT & 1 != 0
    }

    /// Records of the access group that this one belongs to, 1–32.
    pub fn group(&self) -> u32 {
        (self.detail >> GROUP_SHIFT & 31) as u32 + 1
    }

    /// Whether the record was written in an odd use of its slot (the first, the third, …).
    pub fn odd_lap(&self) -> bool {
        self.detail >> LAP_SHIFT & 1 != 0
    }
}

#[cfg(test)]
mod tests;
