//! Distances between the addresses of communicating loads and stores (figure 6.5).
//!
//! Communicating addresses are runs with a constant step. Stores are kept until the program ends, because any later
//! launch may read their bytes; [`super::loads`] counts loads earlier.

use crate::bins::{STRIDE_BINS, bin};
use crate::communication::spill::sorted::{Item, Sorter};
use crate::error::Result;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Number of distances in each of the [`STRIDE_BINS`].
pub type StrideCounts = [u64; STRIDE_BINS.len()];

/// Distances in one launch: the differences between adjacent addresses in each CTA's sorted set of addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchStrides {
    /// Distances between loads that read a byte last written by another entity in an earlier launch.
    pub loads: StrideCounts,
    /// Distances between stores with at least one byte that another entity read in a later launch.
    pub stores: StrideCounts,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, IntoBytes, FromBytes, Immutable,
)]
#[repr(C)]
pub(crate) struct Owner {
    pub(crate) launch: u32,
    pub(crate) cta: u32,
}

/// A run of `count` addresses: `first`, `first + step`, and so on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, IntoBytes, FromBytes, Immutable,
)]
#[repr(C)]
pub(crate) struct Run {
    pub(super) owner: Owner,
    pub(super) first: u64,
    step: u32,
    count: u32,
}

impl Owner {
    pub(crate) fn key(&self) -> u64 {
        u64::from(self.launch) << 32 | u64::from(self.cta)
    }
}

impl Run {
    #[inline]
    pub(super) fn new(owner: Owner, first: u64, step: usize, count: usize) -> Self {
        Self {
            owner,
            first,
            step: step as u32,
            count: count as u32,
        }
    }

    /// Tries to add the addresses of `next`, which must not begin before this run; returns false unless they continue
    /// the run with the same step or are already in it.
    fn continued_by(&mut self, next: &Run) -> bool {
        if self.owner != next.owner {
            return false;
        }
        let distance = next.first - self.first;
        if distance == 0 && next.count == 1 {
            return true;
        }
        let step = match (self.count, next.count) {
            (1, 1) => distance,
            (1, _) => u64::from(next.step),
            _ => u64::from(self.step),
        };
        let same_steps = next.count == 1 || u64::from(next.step) == step;
        let (Ok(step), true) = (u16::try_from(step), same_steps && step > 0) else {
            return false;
        };
        let at = distance / u64::from(step);
        if !distance.is_multiple_of(u64::from(step)) || at > u64::from(self.count) {
            return false;
        }
        let count = (at + u64::from(next.count)).max(u64::from(self.count));
        let Ok(count) = u32::try_from(count) else {
            return false;
        };
        (self.step, self.count) = (u32::from(step), count);
        true
    }

    fn addresses(&self) -> impl Iterator<Item = u64> + use<> {
        let (first, step) = (self.first, u64::from(self.step));
        (0..u64::from(self.count)).map(move |k| first + k * step)
    }

    fn last(&self) -> u64 {
        self.first + (u64::from(self.count) - 1) * u64::from(self.step)
    }

    pub(crate) fn owner_key(&self) -> u64 {
        self.owner.key()
    }
}

/// Runs in order of discovery. An address may be in more than one run.
#[derive(Debug, Default)]
pub(crate) struct Runs(Vec<Run>);

impl Runs {
    #[inline]
    pub(crate) fn push(&mut self, owner: Owner, address: u64) {
        if let Some(run) = self.0.last_mut()
            && run.owner == owner
            && run.count < u32::MAX
        {
            let more = u64::from(run.step) * u64::from(run.count);
            if run.count > 1 && address == run.first + more
                || run.count > 0 && address == run.first + more - u64::from(run.step)
            {
                run.count += u32::from(address == run.first + more);
                return;
            }
            if run.count == 1
                && address > run.first
                && let Ok(step) = u16::try_from(address - run.first)
            {
                (run.step, run.count) = (u32::from(step), 2);
                return;
            }
        }
        self.range(owner, address, 0, 1);
    }

    #[inline]
    pub(crate) fn range(&mut self, owner: Owner, first: u64, step: usize, count: usize) {
        if let Some(last) = self.0.last_mut()
            && last.owner == owner
            && last.step as usize == step
            && count > 1
        {
            if last.first == first && last.count as usize == count {
                return;
            }
            // Continues the last run.
            if last.first + (step as u64) * u64::from(last.count) == first
                && let Some(sum) = last.count.checked_add(count as u32)
            {
                last.count = sum;
                return;
            }
        }
        self.0.push(Run::new(owner, first, step, count));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn take(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.0)
    }
}
impl Item for Run {
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.owner.key()) << 64 | u128::from(self.first)
    }

    fn join(&mut self, other: &Self) -> bool {
        self.continued_by(other)
    }
}

/// Passes the distances within each owner's runs to `sink`, by launch.
pub(crate) fn distances(runs: Sorter<Run>, mut sink: impl FnMut(u32, &StrideCounts)) -> Result<()> {
    let count_piece = |runs: &[Run]| {
        let mut addresses = Vec::new();
        let mut found: Vec<(u32, StrideCounts)> = Vec::new();
        for runs in runs.chunk_by(|a, b| a.owner == b.owner) {
            let launch = runs[0].owner.launch;
            if found.last().is_none_or(|last| last.0 != launch) {
                found.push((launch, StrideCounts::default()));
            }
            if let Some((_, counts)) = found.last_mut() {
                count_owner(runs, &mut addresses, counts);
            }
        }
        found
    };
    runs.pieces(count_piece, |found| {
        found
            .iter()
            .for_each(|(launch, counts)| sink(*launch, counts));
    })
}

#[inline]
pub(super) fn count_distance(distance: u64, times: u64, counts: &mut StrideCounts) {
    if let Some(bin) = bin(&STRIDE_BINS, distance) {
        counts[bin] += times;
    }
}

/// Counts the distances in `runs`, which all belong to one CTA in one launch and are sorted by their first address.
/// Returns the last address.
pub(super) fn count_owner(
    mut runs: &[Run],
    addresses: &mut Vec<u64>,
    counts: &mut StrideCounts,
) -> u64 {
    let mut before = runs[0].first;
    while let Some(run) = runs.first() {
        let mut last = run.last();
        let overlapping = 1
            + (runs[1..].iter())
                .take_while(|next| {
                    let overlaps = next.first <= last;
                    last = last.max(next.last());
                    overlaps
                })
                .count();
        let (cluster, rest) = runs.split_at(overlapping);
        runs = rest;
        count_distance(run.first - before, 1, counts);
        if let [run] = cluster {
            count_distance(u64::from(run.step), u64::from(run.count) - 1, counts);
            before = run.last();
            continue;
        }
        addresses.clear();
        addresses.extend(cluster.iter().flat_map(Run::addresses));
        addresses.sort_unstable();
        for pair in addresses.windows(2) {
            count_distance(pair[1] - pair[0], 1, counts);
        }
        before = addresses.last().copied().unwrap_or(before);
    }
    before
}

pub(crate) fn add(counts: &mut StrideCounts, other: &StrideCounts) {
    for (count, more) in counts.iter_mut().zip(other) {
        *count += more;
    }
}

#[cfg(test)]
mod tests;
