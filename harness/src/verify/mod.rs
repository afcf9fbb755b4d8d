//! Verification: every run is checked in multiple independent ways, and each check is an entry of `run.json`.
//!
//! | check | what it compares |
//! |---|---|
//! | `exit-code`, `stdout-contains` | each run with the manifest |
//! | `output-equal` | standard output and output files of the traced program with those of the untraced one |
//! | `nvcc-build` | with `--nvcc`: outputs of the untraced program with those of nvcc's build |
//! | `nothing-lost`, `no-faults` | the runtimes' own counts of lost records and faults with zero |
//! | `kernel-launches` | nothing; reports that the program launched no kernel |
//! | `capture-complete` | the capture with its own end marks |
//! | `inside-grid`, `inside-allocations`, `known-sites`, `launch-totals` | every access with its launch (module `scan`, and `superstep_analysis::scan`) |
//! | `counts-equal` | thread accesses of each site in each launch with a separate counting run |
//! | `expected-counts` | totals with those that the manifest expects |
//! | `opaque-asm` | nothing; reports inline PTX that is not traced |
//! | `shared-memory` | nothing; reports memory that was shared with another process |
//! | `inside-selection` | of a partial capture: every access with the selection |
//! | `sums-consistent`, `in-situ` | of a run in situ: the sums of each launch with each other, in place of every access |
//! | `in-situ-equal` | with `--verify-in-situ`: these sums with the analysis of a trace |
//! | `golden` | digest and counts with those accepted earlier |

mod counts;
#[cfg(test)]
mod counts_tests;
mod expected;
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
pub use expected::expected_counts;
pub use golden::{Golden, compare_with_golden, golden_is_whole, in_short, require_golden};
pub use in_situ::{check_sums, in_situ_between, in_situ_equal};
pub use output::{
    OutputVariation, RunFiles, check_manifest, no_reference, outputs_equal, read_text,
};
pub use runtime::{capture_complete, check_runtime, launched, opaque_assembly, shared_memory};
pub use scan::{checks, uninitialised};
pub use selection::check_selection;
pub use superstep_analysis::scan::{CaptureScan, scan};
pub use totals::{Totals, same_each_launch, steady_totals, totals};

/// Description of the first difference between two runs.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Difference(pub String);

pub(crate) fn passed(check: &str, detail: impl Into<String>) -> Check {
    Check {
        check: check.to_owned(),
        ok: true,
        detail: detail.into(),
        ..Check::default()
    }
}

/// Returns a check that passed with a warning.
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

/// Returns a check that has nothing to compare with.
pub(crate) fn not_compared(check: &str, why: NotCompared, detail: impl Into<String>) -> Check {
    Check {
        not_compared: Some(why),
        ..failed(check, detail)
    }
}
