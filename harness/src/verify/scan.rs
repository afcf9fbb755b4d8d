//! Checks the invariants of a capture.

use superstep_analysis::Analysis;
use superstep_analysis::metrics::{Source, uninitialised};
use superstep_analysis::run_summary::Check;
use superstep_analysis::scan::{
    CaptureScan, OUTSIDE_ALLOCATIONS, OUTSIDE_GRID, PAST_ALLOCATIONS, UNKNOWN_SITES, launch_name,
};
use superstep_trace::{LaunchOutcome, SiteTable};

use super::{failed, passed, warned};

const INSIDE: &str = "inside-allocations";

pub fn checks(scan: &CaptureScan) -> Vec<Check> {
    let launches = scan.launches.iter();
    let accesses: u64 = launches.map(|launch| launch.digest.thread_accesses).sum();
    let all = format!(
        "{accesses} thread accesses in {} launches",
        scan.launches.len()
    );
    let check = |name, kind| match found(scan, kind) {
        Some(found) => failed(name, found),
        None => passed(name, &all),
    };
    let inside = match (
        found(scan, OUTSIDE_ALLOCATIONS),
        found(scan, PAST_ALLOCATIONS),
    ) {
        (None, Some(past)) => warned(
            INSIDE,
            format!(
                "accesses past the end of an allocation but in its last page, which a GPU tolerates: {past}"
            ),
        ),
        _ => check(INSIDE, OUTSIDE_ALLOCATIONS),
    };
    vec![
        check("inside-grid", OUTSIDE_GRID),
        inside,
        check("known-sites", UNKNOWN_SITES),
        launch_totals(scan),
    ]
}

/// Returns the address check if it found accesses outside allocations.
pub fn outside_allocations(checks: &[Check]) -> Option<&Check> {
    let mut found = checks.iter().filter(|check| check.check == INSIDE);
    found.find(|check| check.failed() || check.warning)
}

/// Describes the access groups that violate a check, or returns `None` if there are none.
fn found(scan: &CaptureScan, kind: usize) -> Option<String> {
    let violation = &scan.violations[kind];
    let mut firsts: Vec<_> = violation.first.values().collect();
    firsts.sort();
    let more = firsts.split_off(firsts.len().min(MAX_NAMED)).len();
    let firsts: Vec<&str> = firsts.iter().map(|(_, text)| text.as_str()).collect();
    let text = format!(
        "{} access groups; the first: {}",
        violation.groups,
        firsts.join("; ")
    );
    match (firsts.is_empty(), more) {
        (true, _) => None,
        (_, 0) => Some(text),
        _ => Some(format!("{text}; and {more} more sites")),
    }
}

fn launch_totals(scan: &CaptureScan) -> Check {
    const NAME: &str = "launch-totals";
    for launch in &scan.launches {
        let name = launch_name(scan.sites, launch.launch);
        let Some(end) = launch.end else {
            return failed(NAME, format!("{name} did not finish"));
        };
        if let LaunchOutcome::Failed(why) = &end.outcome {
            return failed(NAME, format!("{name} failed: {why}"));
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

/// Maximum number of sites in a message.
const MAX_NAMED: usize = 3;

/// Warns about reads of device memory that was never written. These are bugs in the program.
pub fn uninitialised(analysis: &Analysis, sites: &SiteTable) -> Check {
    if let Some(why) = &analysis.initialisation_unknown {
        return passed(UNINITIALISED, format!("not checked: {why}"));
    }
    let rows = uninitialised::rows(&Source::new(analysis, &[], sites));
    if rows.is_empty() {
        let text = "everything that kernels read had already been written";
        return passed(UNINITIALISED, text);
    }
    let named = rows.iter().take(MAX_NAMED);
    let mut text: Vec<String> = named.map(|row| row.in_words()).collect();
    let more = rows.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        text.push(format!("and {more} more in the table `uninitialised`"));
    }
    warned(UNINITIALISED, text.join("; "))
}
