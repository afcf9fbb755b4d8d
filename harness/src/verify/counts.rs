//! The capture against the counting run: the same sites executed the same number of times, launch by launch.

use std::collections::{BTreeMap, HashMap};

use superstep_report::run_summary::{Check, Same};
use superstep_trace::{LaunchId, Proof, SiteId, StreamId};

use super::{failed, passed};
use superstep_analysis::scan::{CaptureScan, launch_name, site_name};
use superstep_build::run::LaunchCounts;

const NAME: &str = "counts-equal";

/// Compares every launch of `scan` with the counting run's `counts`.
///
/// `same` is what both runs must have in common: with [`Same::CountsEachLaunch`] launches that only one of them has are left out,
/// with [`Same::Launches`] all counts.
pub fn counts_equal(scan: &CaptureScan, counts: Option<&[LaunchCounts]>, same: Same) -> Check {
    let Some(counts) = counts else {
        return failed(NAME, "the counting run left no counts");
    };
    let compared = match compare(scan, counts, same) {
        Ok(compared) => compared,
        Err(difference) => return failed(NAME, difference),
    };
    let (traced, counted) = (scan.launches.len(), counts.len());
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

/// How many thread accesses agree, or the first difference.
fn compare(scan: &CaptureScan, counts: &[LaunchCounts], same: Same) -> Result<u64, String> {
    let sites = scan.sites;
    let mut rest: HashMap<(StreamId, LaunchId), &LaunchCounts> = (counts.iter())
        .map(|counts| ((StreamId(counts.stream), LaunchId(counts.launch)), counts))
        .collect();
    let whole = same >= Same::Counts;
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
        if same == Same::Launches {
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
