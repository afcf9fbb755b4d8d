//! One warp's simultaneous accesses at one site.

use crate::SiteId;

pub const WARP_LANES: usize = 32;

/// The simultaneous accesses of one warp at a site.
///
/// `addresses` contains the active lanes' addresses without gaps: entry *i* belongs to the *i*-th set bit of `mask`,
/// counted from bit 0. Entries from index `mask.count_ones()` on are unused.
#[derive(Clone, Copy, Debug)]
pub struct AccessGroup {
    pub site: SiteId,
    /// Linear CTA index: `x + grid.x * (y + grid.y * z)`.
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
    /// A group without active lanes.
    pub const EMPTY: AccessGroup = AccessGroup {
        site: SiteId(0),
        cta: 0,
        warp: 0,
        sm: 0,
        mask: 0,
        width_bytes: 0,
        addresses: [0; WARP_LANES],
    };

    /// Returns the number of active lanes.
    pub const fn lanes(&self) -> usize {
        self.mask.count_ones() as usize
    }

    /// Returns whether the group is not an access but a mark that its lanes passed a grid barrier.
    pub const fn is_grid_barrier(&self) -> bool {
        self.site.0 == SiteId::GRID_BARRIER.0
    }

    /// Returns the number of thread accesses.
    pub const fn accesses(&self) -> usize {
        if self.is_grid_barrier() {
            0
        } else {
            self.lanes()
        }
    }

    pub fn active_addresses(&self) -> &[u64] {
        &self.addresses[..self.lanes()]
    }

    /// Returns every active lane and its address, in lane order.
    #[inline]
    pub fn by_lane(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut rest = self.mask;
        self.active_addresses().iter().map(move |&address| {
            let lane = rest.trailing_zeros() as usize % WARP_LANES;
            rest &= rest.wrapping_sub(1);
            (lane, address)
        })
    }

    /// Returns the thread index within the CTA and the address of every active lane, in lane order.
    pub fn threads(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let first_thread = self.warp.wrapping_mul(WARP_LANES as u32);
        self.by_lane()
            .map(move |(lane, address)| (first_thread.wrapping_add(lane as u32), address))
    }
}

impl PartialEq for AccessGroup {
    /// Ignores unused entries of `addresses`.
    fn eq(&self, other: &Self) -> bool {
        let numbers = |it: &Self| (it.site, it.cta, it.warp, it.sm, it.mask, it.width_bytes);
        numbers(self) == numbers(other) && self.active_addresses() == other.active_addresses()
    }
}

impl Eq for AccessGroup {}

#[cfg(test)]
mod tests;
