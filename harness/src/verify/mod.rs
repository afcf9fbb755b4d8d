//! Verification: every run is checked in multiple independent ways, and each check is an entry in `run.json`.
//! `docs/results.md` describes the checks.

mod counts;
#[cfg(test)]
mod counts_tests;
mod golden;
mod in_situ;
#[cfg(test)]
mod in_situ_tests;
mod output;
mod pairing;
mod runtime;
mod scan;
mod selection;
#[cfg(test)]
mod tests;
mod totals;

use superstep_analysis::run_summary::{Check, NotCompared};

pub use counts::{CountVariation, Order, kind_of};
pub use golden::{
    Golden, compare_with_golden, expected_counts, golden_of_partial, in_short, require_golden,
};
pub use in_situ::{check_sums, in_situ_between, in_situ_equal};
pub use output::{
    OutputVariation, RunFiles, check_manifest, no_reference, outputs_equal, read_text,
};
pub use runtime::{
    NoSummary, capture_complete, check_runtime, faulted, launched, opaque_assembly, shared_memory,
};
pub use scan::{checks, outside_allocations, uninitialised};
pub use selection::check_selection;
pub use superstep_analysis::scan::{CaptureScan, scan};
pub use totals::{Totals, same_each_launch, steady_totals, totals};

pub(crate) fn passed(check: &str, detail: impl Into<String>) -> Check {
    Check {
        check: check.to_owned(),
        ok: true,
        detail: detail.into(),
        ..Check::default()
    }
}

pub(crate) fn warned(check: &str, detail: impl Into<String>) -> Check {
    Check {
        warning: true,
        ..passed(check, detail)
    }
}

pub(crate) fn failed(check: &str, detail: impl Into<String>) -> Check {
    Check {
        ok: false,
        ..passed(check, detail)
    }
}

pub(crate) fn not_compared(check: &str, why: NotCompared, detail: impl Into<String>) -> Check {
    Check {
        not_compared: Some(why),
        ..failed(check, detail)
    }
}
