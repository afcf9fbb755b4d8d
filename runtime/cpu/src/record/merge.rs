//! Forms access groups from the logs of a warp's lanes: "smallest site first".
//!
//! Each lane has a cursor into its log. All lanes whose next entry has the smallest site, and the same width, form one
//! group and advance. Sites are numbered in code order, so for structured control flow, groups match those of the
//! hardware. The order of each thread's accesses is always preserved.

use superstep_trace::{AccessGroup, SiteId};

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Width in the upper half, site in the lower half.
    pub width_and_site: u64,
    pub address: u64,
}

impl LogEntry {
    pub fn words(entries: &[LogEntry]) -> &[u64] {
        // SAFETY: an entry is two words, without padding.
        unsafe { std::slice::from_raw_parts(entries.as_ptr().cast(), 2 * entries.len()) }
    }

    /// Orders groups by site, then by width.
    const fn key(self) -> u64 {
        self.width_and_site.rotate_left(32)
    }
}

pub const LANES: usize = 32;

/// Lanes that have entries left, lowest lane first.
pub struct Lanes<'a, T> {
    pub tails: [&'a [T]; LANES],
    pub bits: [u32; LANES],
    pub count: usize,
}

impl<'a, T> Lanes<'a, T> {
    pub fn new(tails: [&'a [T]; LANES]) -> Self {
        let mut live = Lanes {
            tails,
            bits: std::array::from_fn(|lane| 1 << lane),
            count: LANES,
        };
        live.drop_ended();
        live
    }

    pub fn drop_ended(&mut self) {
        let mut next = 0;
        for index in 0..self.count {
            if !self.tails[index].is_empty() {
                (self.tails[next], self.bits[next]) = (self.tails[index], self.bits[index]);
                next += 1;
            }
        }
        self.count = next;
    }
}

/// Merges the logs of a warp's lanes and passes every group to `sink`. Sets only the site, mask, width and addresses of
/// `group`.
pub fn merge_warp(
    lanes: &[&[LogEntry]; LANES],
    group: &mut AccessGroup,
    mut sink: impl FnMut(&AccessGroup),
) {
    let mut live = Lanes::new(*lanes);
    while live.count > 0 {
        let tails = &mut live.tails[..live.count];
        let bits = &live.bits[..live.count];
        // Fast path while all lanes agree.
        let common = tails.iter().map(|tail| tail.len()).min().unwrap_or(0);
        let merged = merge_uniform(tails, bits, common, group, &mut sink);
        for tail in &mut *tails {
            *tail = &tail[merged..];
        }
        if merged < common {
            merge_step(tails, bits, group, &mut sink);
        }
        live.drop_ended();
    }
}

/// Emits up to `common` groups of all lanes while their entries agree; returns the number of groups.
fn merge_uniform(
    tails: &[&[LogEntry]],
    bits: &[u32],
    common: usize,
    group: &mut AccessGroup,
    sink: &mut impl FnMut(&AccessGroup),
) -> usize {
    group.mask = bits.iter().sum();
    for step in 0..common {
        let first = tails[0][step].width_and_site;
        let mut differ = 0;
        for (tail, address) in tails.iter().zip(&mut group.addresses) {
            let entry = tail[step];
            differ |= entry.width_and_site ^ first;
            *address = entry.address;
        }
        if differ != 0 {
            return step;
        }
        group.site = SiteId(first as u32);
        group.width_bytes = (first >> 32) as u32;
        sink(group);
    }
    common
}

/// Emits one group, for the smallest site among the lanes, all of which have entries left.
fn merge_step(
    tails: &mut [&[LogEntry]],
    bits: &[u32],
    group: &mut AccessGroup,
    sink: &mut impl FnMut(&AccessGroup),
) {
    let Some(smallest) = tails.iter().map(|tail| tail[0].key()).min() else {
        return;
    };
    let mut count = 0;
    group.mask = 0;
    for (tail, bit) in tails.iter_mut().zip(bits) {
        if tail[0].key() == smallest {
            group.mask |= bit;
            group.addresses[count] = tail[0].address;
            count += 1;
            *tail = &tail[1..];
        }
    }
    group.site = SiteId((smallest >> 32) as u32);
    group.width_bytes = smallest as u32;
    sink(group);
}

#[cfg(test)]
mod tests;
