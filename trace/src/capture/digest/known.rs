//! The latest accesses of warps and their hashes: in a loop, many accesses are repeated and need not be hashed again.

use super::{Hashes, PHI};
use crate::{AccessGroup, SiteId, WARP_LANES};

const SLOTS: usize = 1 << 10;

/// Number of groups after which the search ends if fewer than half of them were known: finding one saves as much as
/// searching for a few costs.
const TRIAL: u32 = 1 << 10;

/// The latest accesses of one warp at one site, by lane.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Value of [`Known::search`] when the slot was used last.
    search: u64,
    site: SiteId,
    cta: u32,
    warp: u32,
    width_bytes: u32,
    /// Lanes that have accessed memory, and those of them whose accesses have been hashed.
    accessed: u32,
    hashed: u32,
    addresses: [u64; WARP_LANES],
    hashes: Hashes,
    /// Sum of all lanes' hashes, if all accesses have been hashed.
    sum: [u64; 2],
}

impl Slot {
    fn is_of(&self, search: u64, group: &AccessGroup) -> bool {
        self.search == search
            && (self.site, self.cta, self.warp, self.width_bytes)
                == (group.site, group.cta, group.warp, group.width_bytes)
    }

    /// Returns whether all lanes of `group` access the same addresses as last time.
    fn is_repeated_by(&self, group: &AccessGroup) -> bool {
        match group.mask {
            mask if mask & !self.accessed != 0 => false,
            u32::MAX => self.addresses == group.addresses,
            _ => group
                .by_lane()
                .all(|(lane, address)| self.addresses[lane] == address),
        }
    }

    fn set(&mut self, group: &AccessGroup) {
        self.accessed |= group.mask;
        self.hashed &= !group.mask;
        match group.mask {
            u32::MAX => self.addresses = group.addresses,
            _ => group
                .by_lane()
                .for_each(|(lane, address)| self.addresses[lane] = address),
        }
    }
}

/// The latest accesses of the warps of a launch, in one part of it.
pub struct Known {
    slots: Vec<Slot>,
    /// Number of the current part.
    search: u64,
    is_searching: bool,
    searched: u32,
    found: u32,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            slots: vec![Slot::default(); SLOTS],
            search: 0,
            is_searching: true,
            searched: 0,
            found: 0,
        }
    }
}

impl Known {
    /// Begins another launch or another part of one.
    pub(super) fn begin(&mut self) {
        self.search += 1;
        (self.is_searching, self.searched, self.found) = (true, 0, 0);
    }

    /// Returns the slot of the group's warp and site.
    fn slot(&mut self, group: &AccessGroup) -> &mut Slot {
        let key = u64::from(group.cta) << 32 ^ u64::from(group.site.0) << 8 ^ u64::from(group.warp);
        let index = key.wrapping_mul(PHI) >> (u64::BITS - SLOTS.trailing_zeros());
        let slot = &mut self.slots[index as usize];
        if !slot.is_of(self.search, group) {
            (slot.site, slot.cta, slot.warp) = (group.site, group.cta, group.warp);
            (slot.search, slot.width_bytes) = (self.search, group.width_bytes);
            (slot.accessed, slot.hashed) = (0, 0);
        }
        slot
    }

    /// Returns the sum of a group's hashes if its lanes repeat their latest accesses; `hashes` computes the hashes.
    pub(super) fn find(
        &mut self,
        group: &AccessGroup,
        hashes: impl FnOnce() -> Hashes,
    ) -> Option<[u64; 2]> {
        if !self.is_searching {
            return None;
        }
        if self.searched == TRIAL {
            self.is_searching = self.found >= TRIAL / 2;
            (self.searched, self.found) = (0, 0);
        }
        self.searched += 1;
        let slot = self.slot(group);
        if !slot.is_repeated_by(group) {
            slot.set(group);
            return None;
        }
        if group.mask & !slot.hashed != 0 {
            let hashes = hashes();
            for (k, (lane, _)) in group.by_lane().enumerate() {
                for (known, hashes) in slot.hashes.iter_mut().zip(&hashes) {
                    known[lane] = hashes[k];
                }
            }
            slot.hashed |= group.mask;
            slot.sum =
                [0, 1].map(|word| slot.hashes[word].iter().copied().fold(0, u64::wrapping_add));
        }
        let found = match group.mask {
            u32::MAX => slot.sum,
            _ => [0, 1].map(|word| {
                let hashes = group.by_lane().map(|(lane, _)| slot.hashes[word][lane]);
                hashes.fold(0, u64::wrapping_add)
            }),
        };
        self.found += 1;
        Some(found)
    }

    /// Forgets the accesses of a group's warp at its site.
    pub(super) fn forget(&mut self, group: &AccessGroup) {
        self.slot(group).accessed = 0;
    }
}
