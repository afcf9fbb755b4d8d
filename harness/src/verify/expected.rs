//! Compares counts with the counts that a manifest expects.

use superstep_analysis::run_summary::Check;

use super::totals::Totals;
use super::{failed, passed};
use superstep_analysis::scan::{CaptureScan, launch_name};
use superstep_build::manifest::Expected;

const NAME: &str = "expected-counts";

/// Compares a run's totals with the manifest; returns `None` if the manifest expects nothing for this size.
pub fn expected_counts(expected: &Expected, totals: &Totals, scan: &CaptureScan) -> Option<Check> {
    let threads = &totals.threads;
    // Sums of an in-situ run include waits, and the number of waits varies.
    let includes_waits = scan.is_in_situ() && scan.has_waits();
    let known = [
        ("launches", expected.launches, totals.launches),
        ("CTAs", expected.ctas, totals.ctas),
    ];
    let accesses = [
        ("thread loads", expected.thread_loads, threads.loads),
        ("thread stores", expected.thread_stores, threads.stores),
        ("thread atomics", expected.thread_atomics, threads.atomics),
    ];
    let accesses = accesses.into_iter().filter(|_| !includes_waits);
    let mut matching = Vec::new();
    for (what, expected, found) in known.into_iter().chain(accesses) {
        match expected {
            Some(number) if number != found => {
                let text = format!("{number} {what} expected, {found} found");
                return Some(failed(NAME, text));
            }
            Some(number) => matching.push(format!("{number} {what}")),
            None => {}
        }
    }
    if let Some(ctas) = expected.ctas_each_launch {
        let mut launches = scan.launches.iter().map(|scan| scan.launch);
        if let Some(other) = launches.find(|launch| launch.ctas() != ctas) {
            let (name, found) = (launch_name(scan.sites, other), other.ctas());
            let text = format!("{name}: {ctas} CTAs expected, {found} found");
            return Some(failed(NAME, text));
        }
        matching.push(format!("{ctas} CTAs in each launch"));
    }
    (!matching.is_empty()).then(|| passed(NAME, matching.join(", ")))
}
