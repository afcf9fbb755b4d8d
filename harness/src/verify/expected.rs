//! The counts that a manifest knows beforehand.

use superstep_report::run_summary::Check;

use super::scan::{CaptureScan, launch_name};
use super::totals::Totals;
use super::{failed, passed};
use superstep_build::manifest::Expected;
use superstep_trace::SiteTable;

const NAME: &str = "expected-counts";

/// Compares a run's totals with the manifest's; `None` when the manifest knows nothing for this size.
pub fn expected_counts(
    expected: &Expected,
    totals: &Totals,
    scan: &CaptureScan,
    sites: &SiteTable,
) -> Option<Check> {
    let known = [
        ("launches", expected.launches, totals.launches),
        ("CTAs", expected.ctas, totals.ctas),
        ("thread loads", expected.thread_loads, totals.threads.loads),
        (
            "thread stores",
            expected.thread_stores,
            totals.threads.stores,
        ),
        (
            "thread atomics",
            expected.thread_atomics,
            totals.threads.atomics,
        ),
    ];
    let mut good = Vec::new();
    for (what, expected, found) in known {
        match expected {
            Some(number) if number != found => {
                return Some(failed(
                    NAME,
                    format!("{number} {what} expected, {found} found"),
                ));
            }
            Some(number) => good.push(format!("{number} {what}")),
            None => {}
        }
    }
    if let Some(ctas) = expected.ctas_each_launch {
        if let Some(other) = scan
            .launches
            .iter()
            .find(|launch| launch.launch.ctas() != ctas)
        {
            let name = launch_name(sites, other.launch);
            return Some(failed(
                NAME,
                format!(
                    "{name}: {ctas} CTAs expected, {} found",
                    other.launch.ctas()
                ),
            ));
        }
        good.push(format!("{ctas} CTAs in each launch"));
    }
    (!good.is_empty()).then(|| passed(NAME, good.join(", ")))
}
