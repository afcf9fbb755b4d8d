//! The capture against the counting run: the same sites executed the same number of times, launch by launch.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use superstep_report::run_summary::{Check, Same};
use superstep_trace::{LaunchId, Op, Proof, SiteId, SiteTable, StreamId};

use super::{failed, passed, warned};
use superstep_analysis::scan::{CaptureScan, LaunchScan, launch_name, site_name};
use superstep_build::run::LaunchCounts;

const NAME: &str = "counts-equal";

/// In what two counting runs of a program differ: what no capture of it can be held against.
#[derive(Debug, Default)]
pub struct Unsteady {
    /// Mangled names of kernels with a launch in which a site executed more often in one of the runs.
    kernels: BTreeSet<String>,
    /// One run has launches that the other has not.
    launches: bool,
}

impl Unsteady {
    pub fn add(&mut self, first: &[LaunchCounts], second: &[LaunchCounts]) {
        let key = |launch: &LaunchCounts| (launch.stream, launch.launch);
        let mut rest: HashMap<_, &LaunchCounts> = first.iter().map(|it| (key(it), it)).collect();
        for launch in second {
            match rest.remove(&key(launch)) {
                Some(other) if other.kernel == launch.kernel => {
                    let sites = |of: &LaunchCounts| -> BTreeMap<_, _> {
                        of.sites.iter().copied().collect()
                    };
                    if sites(other) != sites(launch) {
                        self.kernels.insert(launch.kernel.clone());
                    }
                }
                _ => self.launches = true,
            }
        }
        self.launches |= !rest.is_empty();
    }

    /// Compares every launch of `scan` with the counting run's `counts`, without what is unsteady.
    ///
    /// `same` is what both runs must have in common: with [`Same::CountsEachLaunch`] launches that only one of them has are left out,
    /// with [`Same::Launches`] all counts.
    pub fn counts_equal(
        &self,
        scan: &CaptureScan,
        counts: Option<&[LaunchCounts]>,
        same: Same,
    ) -> Check {
        // A program without kernels has nothing that counts.
        let Some(counts) = counts.or(scan.launches.is_empty().then_some(&[])) else {
            return failed(NAME, "the counting run left no counts");
        };
        let same = match self.launches {
            true => same.min(Same::CountsEachLaunch),
            false => same,
        };
        let compared = match compare(scan, counts, same, self) {
            Ok(compared) => compared,
            Err(difference) => return failed(NAME, difference),
        };
        let (traced, counted) = (scan.launches.len(), counts.len());
        if self.launches || !self.kernels.is_empty() {
            let names = self
                .kernels
                .iter()
                .map(|name| scan.sites.display_name(name));
            let launches = self.launches.then_some("the launches");
            let what: Vec<&str> = launches.into_iter().chain(names).collect();
            let what = what.join(", ");
            return warned(
                NAME,
                format!(
                    "{compared} thread accesses, without {what}, in which two counting runs differ from each other"
                ),
            );
        }
        let detail = match same {
            Same::Digests | Same::Counts => {
                format!("{compared} thread accesses in {traced} launches")
            }
            Same::Launches => format!(
                "{traced} launches traced, {counted} counted; accesses differ from run to run and are not compared"
            ),
            Same::CountsEachLaunch => format!(
                "{compared} thread accesses in the launches that both runs have, {traced} traced, {counted} counted"
            ),
        };
        passed(NAME, detail)
    }
}

/// How many thread accesses agree, or the first difference.
fn compare(
    scan: &CaptureScan,
    counts: &[LaunchCounts],
    same: Same,
    unsteady: &Unsteady,
) -> Result<u64, String> {
    let sites = scan.sites;
    let mut rest: HashMap<(StreamId, LaunchId), &LaunchCounts> = (counts.iter())
        .map(|counts| ((StreamId(counts.stream), LaunchId(counts.launch)), counts))
        .collect();
    let (whole, in_situ) = (same >= Same::Counts, scan.is_in_situ());
    if whole && rest.len() != scan.launches.len() {
        let traced = scan.launches.len();
        return Err(format!("{traced} launches traced, {} counted", rest.len()));
    }
    let mut compared = 0;
    for traced in &scan.launches {
        let launch = &traced.launch;
        let name = || launch_name(sites, launch);
        let counted = match rest.remove(&(launch.stream, launch.launch)) {
            Some(counted) if counted.kernel == launch.kernel => counted,
            _ if !whole => continue,
            None => return Err(format!("{}: traced, but not counted", name())),
            Some(counted) => {
                let (name, other) = (name(), sites.display_name(&counted.kernel));
                return Err(format!("{name}: the counting run launched {other} there"));
            }
        };
        if same == Same::Launches || unsteady.kernels.contains(&launch.kernel) {
            continue;
        }
        if in_situ {
            compared += compare_sums(sites, traced, counted)?;
            continue;
        }
        // How often CTAs look whether the others are there depends on when these come.
        let steady = |site: SiteId| (sites.get(site)).is_none_or(|s| s.proof != Proof::GridBarrier);
        // By site: how often it was executed in the trace, and in the counting run.
        let mut both: BTreeMap<SiteId, (u64, u64)> = BTreeMap::new();
        for (site, count) in &traced.sites {
            both.entry(*site).or_default().0 = count.accesses;
        }
        for (site, count) in &counted.sites {
            both.entry(SiteId(*site)).or_default().1 = *count;
        }
        both.retain(|site, _| steady(*site));
        for (site, (in_trace, in_count)) in both {
            if in_trace != in_count {
                return Err(format!(
                    "{}, {}: {in_trace} thread accesses traced, {in_count} counted",
                    name(),
                    site_name(sites, site)
                ));
            }
            compared += in_trace;
        }
    }
    Ok(compared)
}

/// The same for a launch whose accesses were added up: by kind of access, as nobody knows their sites.
fn compare_sums(
    sites: &SiteTable,
    traced: &LaunchScan<'_>,
    counted: &LaunchCounts,
) -> Result<u64, String> {
    let (mut counts, mut is_steady) = ([0; 3], true);
    for &(site, accesses) in &counted.sites {
        let site = SiteId(site);
        let Some(known) = sites.get(site) else {
            return Err(format!("{site} was counted, and is in no module's table"));
        };
        is_steady &= known.proof != Proof::GridBarrier;
        counts[match known.op {
            Op::Load => 0,
            Op::Store => 1,
            _ => 2,
        }] += accesses;
    }
    let sums = traced.sums.map_or([0; 3], |sums| {
        [&sums.loads, &sums.stores, &sums.atomics].map(|tally| tally.threads)
    });
    let kinds = ["loads", "stores", "atomics"];
    for ((kind, added_up), counted) in kinds.into_iter().zip(sums).zip(counts) {
        if is_steady && added_up != counted {
            let name = launch_name(sites, traced.launch);
            return Err(format!(
                "{name}: {added_up} {kind} of threads added up, {counted} counted"
            ));
        }
    }
    Ok(sums.iter().sum())
}

#[cfg(test)]
mod tests {
    use superstep_trace::testing::{self, CaptureBuilder};

    use super::super::tests::{Fault, capture, counted};
    use super::*;
    use superstep_analysis::scan::scan;

    fn counts_equal(scan: &CaptureScan, counts: Option<&[LaunchCounts]>, same: Same) -> Check {
        Unsteady::default().counts_equal(scan, counts, same)
    }

    #[test]
    fn the_counting_run_decides() {
        let folder = tempfile::tempdir().unwrap();
        let capture = capture(folder.path(), Fault::default());
        let scan = scan(&capture).unwrap();
        let check = counts_equal(&scan, Some(&counted(64)), Same::Digests);
        assert!(
            check.ok && check.detail == "132 thread accesses in 2 launches",
            "{check:?}"
        );
        let check = counts_equal(&scan, Some(&counted(65)), Same::Digests);
        let expected = "launch 1 of stream 0 (kernel), site 0 (load at toy.cu:10): 64 thread accesses traced, 65 counted";
        assert!(!check.ok && check.detail == expected, "{check:?}");
        assert!(
            counts_equal(&scan, Some(&counted(65)), Same::Launches).ok,
            "accesses that vary are not compared"
        );
        assert!(
            !counts_equal(&scan, Some(&counted(64)[..1]), Same::Digests).ok,
            "a launch is missing"
        );
        assert!(
            !counts_equal(&scan, None, Same::Digests).ok,
            "no counts at all"
        );
    }

    #[test]
    fn the_barrier_of_the_grid_is_asked_as_often_as_it_happens() {
        let folder = tempfile::tempdir().unwrap();
        let fault = Fault {
            site: 1,
            ..Fault::default()
        };
        let capture = capture(folder.path(), fault);
        let scan = scan(&capture).unwrap();
        let mut counts = counted(64);
        counts[1].sites = vec![(0, 64), (2, 5)];
        let check = counts_equal(&scan, Some(&counts), Same::Digests);
        assert!(check.ok, "{check:?}");
    }

    #[test]
    fn what_differs_between_counting_runs_is_not_compared_and_all_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let capture = capture(folder.path(), Fault::default());
        let scan = scan(&capture).unwrap();
        let compare = |unsteady: &Unsteady, counts: &[LaunchCounts]| {
            unsteady.counts_equal(&scan, Some(counts), Same::Digests)
        };
        let mut unsteady = Unsteady::default();
        unsteady.add(&counted(65), &counted(65));
        assert!(
            !compare(&unsteady, &counted(65)).ok,
            "two equal runs excuse nothing"
        );
        unsteady.add(&counted(65), &counted(66));
        let check = compare(&unsteady, &counted(65));
        assert!(
            check.ok && check.warning && check.detail.contains("without kernel,"),
            "{check:?}"
        );
        assert!(
            !compare(&unsteady, &counted(64)[..1]).ok,
            "a launch is missing"
        );
        let mut unsteady = Unsteady::default();
        unsteady.add(&counted(64), &counted(64)[..1]);
        let check = compare(&unsteady, &counted(64)[..1]);
        assert!(
            check.ok
                && check
                    .detail
                    .contains("66 thread accesses, without the launches,"),
            "{check:?}"
        );
        assert!(
            !compare(&unsteady, &counted(65)).ok,
            "the launches that both have are the same"
        );
    }

    #[test]
    fn a_program_without_kernels_needs_no_counts() {
        let folder = tempfile::tempdir().unwrap();
        let module = testing::module("toy.cu", Vec::new(), &[]);
        let capture = CaptureBuilder::new(folder.path(), &module).finish();
        assert!(counts_equal(&scan(&capture).unwrap(), None, Same::Digests).ok);
    }
}
