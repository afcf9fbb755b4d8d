//! Distances between the addresses of communicating loads and stores (figure 6.5).
//!
//! What communicates is kept as runs of addresses with a constant step: the loads of one launch until its end, the stores
//! until the end of the program, because anyone may read them later.

use crate::bins::{STRIDE_BINS, bin};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Number of distances by bin of [`STRIDE_BINS`].
pub type StrideCounts = [u64; STRIDE_BINS.len()];

/// Distances of one launch, those of all of its CTAs added up.
///
/// For each CTA its distinct addresses are sorted, and the differences of neighbours are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchStrides {
    /// Of loads that read a byte last written by another entity in an earlier launch.
    pub loads: StrideCounts,
    /// Of stores of which another entity read a byte in a later launch.
    pub stores: StrideCounts,
}

/// Whose accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    /// Position of the launch.
    pub(crate) launch: u32,
    /// Linear number of the CTA.
    pub(crate) cta: u32,
}

/// Addresses `first`, `first + step`, … `count` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    owner: Owner,
    first: u64,
    step: u16,
    count: u16,
}

/// Runs in the order of their discovery; the same address may stand in several.
#[derive(Debug, Default)]
pub(crate) struct Runs(Vec<Run>);

impl Runs {
    /// One more address.
    #[inline]
    pub(crate) fn push(&mut self, owner: Owner, address: u64) {
        if let Some(run) = self.0.last_mut()
            && run.owner == owner
            && run.count < u16::MAX
        {
            let more = u64::from(run.step) * u64::from(run.count);
            if run.count > 1 && address == run.first + more
                || run.count > 0 && address == run.first + more - u64::from(run.step)
            {
                run.count += u16::from(address == run.first + more);
                return;
            }
            if run.count == 1
                && address > run.first
                && let Ok(step) = u16::try_from(address - run.first)
            {
                (run.step, run.count) = (step, 2);
                return;
            }
        }
        self.range(owner, address, 0, 1);
    }

    /// `count` addresses, `step` apart.
    #[inline]
    pub(crate) fn range(&mut self, owner: Owner, first: u64, step: usize, count: usize) {
        self.0.push(Run {
            owner,
            first,
            step: step as u16,
            count: count as u16,
        });
    }

    /// Adds all of `other`.
    pub(crate) fn append(&mut self, mut other: Runs) {
        self.0.append(&mut other.0);
    }

    /// Moves all runs to `other`.
    pub(crate) fn drain_into(&mut self, other: &mut Runs) {
        other.0.append(&mut self.0);
        // The next launch may need little.
        self.0.shrink_to(1024);
    }

    /// The distances within each owner, by position of the launch: (launch, counts), ascending.
    pub(crate) fn distances(mut self) -> Vec<(u32, StrideCounts)> {
        self.0.par_sort_unstable();
        let by_launch: Vec<&[Run]> = (self.0)
            .chunk_by(|a, b| a.owner.launch == b.owner.launch)
            .collect();
        by_launch
            .into_par_iter()
            .map(|runs| (runs[0].owner.launch, of_launch(runs)))
            .collect()
    }
}

fn of_launch(runs: &[Run]) -> StrideCounts {
    let owners: Vec<&[Run]> = runs.chunk_by(|a, b| a.owner == b.owner).collect();
    owners
        .into_par_iter()
        .fold(
            || ([0; STRIDE_BINS.len()], Vec::new()),
            |(mut counts, mut addresses), runs| {
                of_owner(runs, &mut addresses, &mut counts);
                (counts, addresses)
            },
        )
        .map(|(counts, _)| counts)
        .reduce(
            || [0; STRIDE_BINS.len()],
            |mut a, b| {
                add(&mut a, &b);
                a
            },
        )
}

/// `runs`: all of one CTA in one launch.
fn of_owner(runs: &[Run], addresses: &mut Vec<u64>, counts: &mut StrideCounts) {
    addresses.clear();
    for run in runs {
        let step = u64::from(run.step);
        addresses.extend((0..u64::from(run.count)).map(|k| run.first + k * step));
    }
    if !addresses.is_sorted() {
        addresses.sort_unstable();
    }
    for pair in addresses.windows(2) {
        if let Some(bin) = bin(&STRIDE_BINS, pair[1] - pair[0]) {
            counts[bin] += 1;
        }
    }
}

/// Adds `other` to each count.
pub(crate) fn add(counts: &mut StrideCounts, other: &StrideCounts) {
    for (count, more) in counts.iter_mut().zip(other) {
        *count += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_are_small() {
        assert_eq!(size_of::<Run>(), 24);
    }

    proptest! {
        #[test]
        fn addresses_survive_as_runs(addresses in prop::collection::vec((0u32..2, 0u64..40, any::<bool>()), 0..60)) {
            let mut runs = Runs::default();
            let mut sets = [BTreeSet::new(), BTreeSet::new()];
            for &(cta, address, far) in &addresses {
                let address = address + if far { 1 << 20 } else { 0 };
                runs.push(Owner { launch: 3, cta }, address);
                sets[cta as usize].insert(address);
            }
            let mut want = [0; STRIDE_BINS.len()];
            for set in &sets {
                let sorted: Vec<u64> = set.iter().copied().collect();
                for pair in sorted.windows(2) {
                    want[bin(&STRIDE_BINS, pair[1] - pair[0]).unwrap()] += 1;
                }
            }
            let found = runs.distances();
            prop_assert_eq!(found.len(), usize::from(!addresses.is_empty()));
            prop_assert!(found.iter().all(|&(launch, counts)| launch == 3 && counts == want));
        }
    }
}
