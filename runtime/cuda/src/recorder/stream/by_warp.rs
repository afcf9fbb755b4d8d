//! Sorts the records of a piece by warp, preserving the order within each warp.
//!
//! Sorted records compress better, since neighbours are similar. The order between warps has no meaning in a capture.

/// Maximum number of warps that are sorted at a time; more take multiple rounds.
pub const MAX_WARPS: usize = 512;
const TABLE: usize = 2 * MAX_WARPS;

pub struct ByWarp {
    /// Hash table of list indices plus one, with open addressing.
    table: Box<[u16; TABLE]>,
    lists: Vec<List>,
    /// Number of lists in use; the others keep their memory.
    used: usize,
}

struct List {
    key: u64,
    offsets: Vec<u32>,
}

impl Default for ByWarp {
    fn default() -> Self {
        ByWarp {
            table: Box::new([0; TABLE]),
            lists: Vec::new(),
            used: 0,
        }
    }
}

impl ByWarp {
    /// Adds the record of warp `key` at `offset`. Returns `false` if there are too many warps.
    #[inline]
    pub fn add(&mut self, key: u64, offset: u32) -> bool {
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % TABLE;
        loop {
            let number = usize::from(self.table[at]);
            if number == 0 {
                return self.add_warp(at, key, offset);
            }
            let list = &mut self.lists[number - 1];
            if list.key == key {
                list.offsets.push(offset);
                return true;
            }
            at = (at + 1) % TABLE;
        }
    }

    #[inline(never)]
    fn add_warp(&mut self, at: usize, key: u64, offset: u32) -> bool {
        let number = self.used;
        if number == MAX_WARPS {
            return false;
        }
        if self.lists.len() == number {
            let offsets = Vec::new();
            self.lists.push(List { key, offsets });
        }
        let list = &mut self.lists[number];
        list.key = key;
        list.offsets.push(offset);
        self.used += 1;
        self.table[at] = number as u16 + 1;
        true
    }

    /// Removes all offsets and passes them to `visit`, warp by warp in the order of the warps' first records.
    pub fn drain(&mut self, mut visit: impl FnMut(u32)) {
        for list in &mut self.lists[..self.used] {
            list.offsets.drain(..).for_each(&mut visit);
        }
        if self.used != 0 {
            self.used = 0;
            self.table.fill(0);
        }
    }
}

#[cfg(test)]
mod tests;
