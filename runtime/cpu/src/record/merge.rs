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

/// Merges the logs of a warp's lanes and passes every group to `sink`. Sets only the site, mask, width and addresses of
/// `group`.
pub fn merge_warp(
    lanes: &[&[LogEntry]; LANES],
    group: &mut AccessGroup,
    mut sink: impl FnMut(&AccessGroup),
) {
    let mut remaining = *lanes;
    let mut live: Vec<usize> = Vec::with_capacity(LANES);
    live.extend((0..LANES).filter(|&lane| !remaining[lane].is_empty()));
    while !live.is_empty() {
        // Fast path while all lanes agree.
        let common = live
            .iter()
            .map(|&lane| remaining[lane].len())
            .min()
            .unwrap_or(0);
        let merged = merge_uniform(&remaining, &live, common, group, &mut sink);
        for &lane in &live {
            remaining[lane] = &remaining[lane][merged..];
        }
        live.retain(|&lane| !remaining[lane].is_empty());
        if merged < common {
            merge_step(&mut remaining, &live, group, &mut sink);
            live.retain(|&lane| !remaining[lane].is_empty());
        }
    }
}

/// Emits groups of all live lanes while their entries agree, at most `common` groups; returns their number.
fn merge_uniform(
    remaining: &[&[LogEntry]; LANES],
    live: &[usize],
    common: usize,
    group: &mut AccessGroup,
    sink: &mut impl FnMut(&AccessGroup),
) -> usize {
    let mut logs: [&[LogEntry]; LANES] = [&[]; LANES];
    for (log, &lane) in logs.iter_mut().zip(live) {
        *log = &remaining[lane][..common];
    }
    let logs = &logs[..live.len()];
    group.mask = live.iter().fold(0, |mask, &lane| mask | 1 << lane);
    for step in 0..common {
        let first = logs[0][step].width_and_site;
        let mut differ = 0;
        for (log, address) in logs.iter().zip(&mut group.addresses) {
            let entry = log[step];
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

/// Emits one group, for the smallest site among the live lanes, all of which have entries left.
fn merge_step(
    remaining: &mut [&[LogEntry]; LANES],
    live: &[usize],
    group: &mut AccessGroup,
    sink: &mut impl FnMut(&AccessGroup),
) {
    let Some(smallest) = live
        .iter()
        .filter_map(|&lane| remaining[lane].first())
        .map(|entry| entry.key())
        .min()
    else {
        return;
    };
    group.mask = 0;
    let mut count = 0;
    for &lane in live {
        if let Some((entry, rest)) = remaining[lane].split_first()
            && entry.key() == smallest
        {
            group.mask |= 1 << lane;
            group.addresses[count] = entry.address;
            count += 1;
            remaining[lane] = rest;
        }
    }
    group.site = SiteId((smallest >> 32) as u32);
    group.width_bytes = smallest as u32;
    sink(group);
}

#[cfg(test)]
mod tests;
