//! Checks the invariants of a capture.

use superstep_analysis::Analysis;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::Check;
use superstep_analysis::scan::{
    CaptureScan, OUTSIDE_ALLOCATIONS, OUTSIDE_GRID, PAST_ALLOCATIONS, UNKNOWN_SITES, launch_name,
};
use superstep_trace::{LaunchOutcome, SiteTable};

use super::{failed, passed, warned};

const CHECKS: [(&str, usize); 3] = [
    ("inside-grid", OUTSIDE_GRID),
    ("inside-allocations", OUTSIDE_ALLOCATIONS),
    ("known-sites", UNKNOWN_SITES),
];

pub fn checks(scan: &CaptureScan) -> Vec<Check> {
    let launches = scan.launches.iter();
    let accesses: u64 = launches.map(|launch| launch.digest.thread_accesses).sum();
    let all = format!(
        "{accesses} thread accesses in {} launches",
        scan.launches.len()
    );
    let checks = CHECKS.map(|(name, kind)| {
        let violation = &scan.violations[kind];
        let groups = violation.groups;
        let behind = &scan.violations[PAST_ALLOCATIONS];
        match (&violation.first, &behind.first) {
            (None, Some((_, first))) if kind == OUTSIDE_ALLOCATIONS => warned(
                name,
                format!(
                    "{} access groups are past the end of an allocation but in its last page, which a GPU tolerates; the first: {first}",
                    behind.groups
                ),
            ),
            (None, _) => passed(name, &all),
            (Some((_, first)), _) => failed(name, format!("{groups} access groups; the first: {first}")),
        }
    });
    checks.into_iter().chain([launch_totals(scan)]).collect()
}

fn launch_totals(scan: &CaptureScan) -> Check {
    const NAME: &str = "launch-totals";
    for launch in &scan.launches {
        let name = launch_name(scan.sites, launch.launch);
        let Some(end) = launch.end else {
            return failed(NAME, format!("{name}: it never ended"));
        };
        if let LaunchOutcome::Failed(why) = &end.outcome {
            return failed(NAME, format!("{name}: it failed: {why}"));
        }
        let (announced, read) = (end.thread_accesses, launch.digest.thread_accesses);
        if announced != read {
            let text =
                format!("{name}: {announced} thread accesses announced, {read} in the capture");
            return failed(NAME, text);
        }
    }
    passed(NAME, format!("{} launches", scan.launches.len()))
}

const UNINITIALISED: &str = "initialised-reads";

/// Number of sites in the message; the table lists all.
const NAMED: usize = 3;

/// Warns about reads of device memory that was never written, a bug in the program.
pub fn uninitialised(analysis: &Analysis, sites: &SiteTable) -> Check {
    if let Some(why) = &analysis.initialisation_unknown {
        return passed(UNINITIALISED, format!("not checked: {why}"));
    }
    let rows = Metrics::uninitialised_of(analysis, sites);
    if rows.is_empty() {
        let text = "everything that kernels read had been written before";
        return passed(UNINITIALISED, text);
    }
    let named = rows.iter().take(NAMED);
    let mut text: Vec<String> = named.map(|row| row.in_words()).collect();
    let more = rows.len().saturating_sub(NAMED);
    if more > 0 {
        text.push(format!("and {more} more in the table `uninitialised`"));
    }
    warned(UNINITIALISED, text.join("; "))
}
