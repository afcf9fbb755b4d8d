//! The accesses of one warp at one site at one time.

use crate::SiteId;

pub const WARP_LANES: usize = 32;

/// The accesses that one warp makes at a site together.
///
/// `addresses` holds the active lanes' addresses without gaps: entry *i* belongs to the *i*-th set bit of `mask`,
/// counted from bit 0. Entries from `mask.count_ones()` on mean nothing.
#[derive(Clone, Copy, Debug)]
pub struct AccessGroup {
    pub site: SiteId,
    /// Linear CTA number: `x + grid.x * (y + grid.y * z)`.
    pub cta: u32,
    /// Warp within the CTA; lane *l* is the thread `warp * 32 + l`.
    pub warp: u32,
    /// Multiprocessor (CUDA) or worker (CPU) that ran the warp.
    pub sm: u32,
    /// Active lanes, bit *l* for lane *l*.
    pub mask: u32,
    pub width_bytes: u32,
    pub addresses: [u64; WARP_LANES],
}

impl AccessGroup {
    /// A group without active lanes, to be filled in.
    pub const EMPTY: AccessGroup = AccessGroup {
        site: SiteId(0),
        cta: 0,
        warp: 0,
        sm: 0,
        mask: 0,
        width_bytes: 0,
        addresses: [0; WARP_LANES],
    };

    /// Number of active lanes: thread accesses in this group.
    pub const fn lanes(&self) -> usize {
        self.mask.count_ones() as usize
    }

    pub fn active_addresses(&self) -> &[u64] {
        &self.addresses[..self.lanes()]
    }

    /// Thread number within the CTA and address of every active lane, in lane order.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let mut rest = self.mask;
        let first_thread = self.warp.wrapping_mul(WARP_LANES as u32);
        self.active_addresses().iter().map(move |&address| {
            let lane = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            (first_thread.wrapping_add(lane), address)
        })
    }
}

impl PartialEq for AccessGroup {
    /// Unused entries of `addresses` do not count.
    fn eq(&self, other: &Self) -> bool {
        (
            self.site,
            self.cta,
            self.warp,
            self.sm,
            self.mask,
            self.width_bytes,
        ) == (
            other.site,
            other.cta,
            other.warp,
            other.sm,
            other.mask,
            other.width_bytes,
        ) && self.active_addresses() == other.active_addresses()
    }
}

impl Eq for AccessGroup {}

#[cfg(test)]
mod tests;
