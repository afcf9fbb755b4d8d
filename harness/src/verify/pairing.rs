//! Pairs the launches of an in-situ run with the launches of a trace.
//!
//! If a single host thread launches kernels, the launches are numbered alike in both runs. If multiple threads do, the
//! numbering of streams and launches differs from run to run. In that case, streams are identified by their launches,
//! and launches in shared streams by their counts.

use std::collections::BTreeMap;

use superstep_analysis::Analysis;
use superstep_trace::Launch;

use super::counts::Order;
use super::in_situ::{COUNTED, volumes};

/// Launch numbers in the other run, in both directions.
pub struct Pairing {
    pub traced: Vec<u32>,
    pub in_situ: Vec<u32>,
}

/// Kernel, grid, block and counts of a launch.
type Signature<'a> = (&'a str, [u32; 3], [u32; 3], Vec<u64>);

/// A launch, its volumes (which may be inexact) and its number.
type Known<'a> = (Signature<'a>, Vec<u64>, u32);

/// Returns the possible pairings of launches, most likely first. Both runs must have the same number of launches.
pub fn pairings(in_situ: &Analysis, traced: &Analysis, order: Order) -> Vec<Pairing> {
    let number = in_situ.counts.launches.len() as u32;
    let mut candidates = vec![(0..number).collect()];
    if order != Order::Fixed {
        let runs = [in_situ, traced];
        let by_stream = runs.map(|run| groups(run, |launch, _| launch.stream));
        let by_launch = runs.map(|run| groups(run, |_, number| number));
        candidates.extend(paired(by_stream));
        candidates.extend(paired(by_launch));
    }
    candidates.into_iter().map(Pairing::new).collect()
}

impl Pairing {
    fn new(traced: Vec<u32>) -> Self {
        let mut in_situ = vec![0; traced.len()];
        for (number, &traced) in (0..).zip(&traced) {
            in_situ[traced as usize] = number;
        }
        Pairing { traced, in_situ }
    }
}

/// Returns the launches of a run in groups, in the order of the groups' keys.
fn groups<K: Ord>(analysis: &Analysis, key: fn(&Launch, u32) -> K) -> Vec<Vec<Known<'_>>> {
    let mut groups: BTreeMap<K, Vec<Known<'_>>> = BTreeMap::new();
    for (number, it) in (0..).zip(&analysis.counts.launches) {
        let (launch, counts) = (&it.launch, COUNTED.map(|(_, column)| column(&it.counts)));
        let signature = (&*launch.kernel, launch.grid, launch.block, counts.into());
        let group = groups.entry(key(launch, number)).or_default();
        group.push((signature, volumes(analysis, number), number));
    }
    groups.into_values().collect()
}

/// Pairs groups that have the same launches in the same order, and breaks ties by volume. Returns each launch's number
/// in the trace, or `None` if the signatures differ.
fn paired(mut runs: [Vec<Vec<Known<'_>>>; 2]) -> Option<Vec<u32>> {
    for groups in &mut runs {
        groups.sort_by(|one, other| {
            let signatures = one.iter().map(|it| &it.0).cmp(other.iter().map(|it| &it.0));
            signatures.then_with(|| one.iter().map(|it| &it.1).cmp(other.iter().map(|it| &it.1)))
        });
    }
    let [ours, theirs] = runs;
    if !ours.iter().map(Vec::len).eq(theirs.iter().map(Vec::len)) {
        return None;
    }
    let pairs = ours.into_iter().flatten().zip(theirs.into_iter().flatten());
    let pairs = pairs.map(|(ours, theirs)| (ours.0 == theirs.0).then_some((ours.2, theirs.2)));
    let mut pairs: Vec<(u32, u32)> = pairs.collect::<Option<_>>()?;
    pairs.sort_unstable();
    Some(pairs.into_iter().map(|(_, theirs)| theirs).collect())
}
