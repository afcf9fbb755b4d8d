//! Whether a program reads device memory that nothing has written: a bug of its own, so a warning and no failure.

use superstep_analysis::Analysis;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::Check;
use superstep_trace::SiteTable;

use super::{passed, warned};

const UNINITIALISED: &str = "initialised-reads";

/// Most sites in the message; the table has all.
const NAMED: usize = 3;

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
