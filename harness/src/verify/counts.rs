//! The capture against the counting run: the same sites executed the same number of times, launch by launch.

use std::collections::{BTreeMap, HashMap};

use superstep_report::run_summary::{Check, Same};
use superstep_trace::{LaunchId, Proof, SiteId, SiteTable, StreamId};

use super::scan::{CaptureScan, launch_name, site_name};
use super::{failed, passed};
use superstep_build::run::LaunchCounts;

const NAME: &str = "counts-equal";

/// Compares every launch of `scan` with the counting run's `counts`.
///
/// `same` is what both runs must have in common: with [`Same::CountsEachLaunch`] launches that only one of them has are left out,
/// with [`Same::Launches`] all counts.
pub fn counts_equal(
    scan: &CaptureScan,
    sites: &SiteTable,
    counts: Option<&[LaunchCounts]>,
    same: Same,
) -> Check {
    let Some(counts) = counts else {
        return failed(NAME, "the counting run left no counts");
    };
    let compared = match compare(scan, sites, counts, same) {
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
fn compare(
    scan: &CaptureScan,
    sites: &SiteTable,
    counts: &[LaunchCounts],
    same: Same,
) -> Result<u64, String> {
    let mut rest: HashMap<(StreamId, LaunchId), &LaunchCounts> = counts
        .iter()
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
        let counted = rest.remove(&(launch.stream, launch.launch));
        let counted = match counted {
            Some(counted) if counted.kernel == launch.kernel => counted,
            _ if !whole => continue,
            None => return Err(format!("{}: traced, but not counted", name())),
            Some(counted) => {
                let other = sites.display_name(&counted.kernel);
                return Err(format!(
                    "{}: the counting run launched {other} there",
                    name()
                ));
            }
        };
        if same == Same::Launches {
            continue;
        }
        // How often CTAs look whether the others are there depends on when these come.
        let steady = |site: SiteId| (sites.get(site)).is_none_or(|s| s.proof != Proof::GridBarrier);
        let by_site: BTreeMap<SiteId, u64> = counted
            .sites
            .iter()
            .filter(|(site, count)| *count > 0 && steady(SiteId(*site)))
            .map(|(site, count)| (SiteId(*site), *count))
            .collect();
        let traced_sites: BTreeMap<SiteId, u64> = traced
            .sites
            .iter()
            .filter(|(site, _)| steady(*site))
            .map(|(site, count)| (*site, count.accesses))
            .collect();
        if let Some((site, in_trace, in_count)) = first_difference(&traced_sites, &by_site) {
            return Err(format!(
                "{}, {}: {in_trace} thread accesses traced, {in_count} counted",
                name(),
                site_name(sites, site)
            ));
        }
        compared += traced_sites.values().sum::<u64>();
    }
    Ok(compared)
}

/// The first site with different counts in two launches.
fn first_difference(
    a: &BTreeMap<SiteId, u64>,
    b: &BTreeMap<SiteId, u64>,
) -> Option<(SiteId, u64, u64)> {
    let mut sites: Vec<SiteId> = a.keys().chain(b.keys()).copied().collect();
    sites.sort_unstable();
    sites.into_iter().find_map(|site| {
        let counts = (
            a.get(&site).copied().unwrap_or(0),
            b.get(&site).copied().unwrap_or(0),
        );
        (counts.0 != counts.1).then_some((site, counts.0, counts.1))
    })
}
