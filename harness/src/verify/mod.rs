//! Verification: every run is checked in several independent ways; each check is one entry of `run.json`.
//!
//! | check | what it compares |
//! |---|---|
//! | `exit-code`, `stdout-contains` | each run with the manifest |
//! | `output-equal` | standard output and output files of the traced program with those of the untraced one |
//! | `nvcc-build` | with `--nvcc`: what the untraced program prints and writes with what it does when nvcc builds it |
//! | `nothing-lost`, `no-faults` | what the runtimes say about themselves |
//! | `kernel-launches` | nothing: it says that the program launched no kernel |
//! | `capture-complete` | the capture with its own end marks |
//! | `inside-grid`, `inside-allocations`, `known-sites`, `launch-totals` | every access with its launch (module `scan`, and `superstep_analysis::scan`) |
//! | `counts-equal` | thread accesses of each site in each launch with a separate counting run |
//! | `expected-counts` | totals with what the manifest knows beforehand |
//! | `opaque-asm` | nothing: it says how many pieces of inline PTX were let through untraced, if any |
//! | `shared-memory` | nothing: it says that memory was shared with another process, if any was |
//! | `inside-selection` | of a capture of a part: every access with the selection |
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

pub use counts::{CountVariation, Order};
pub use expected::expected_counts;
pub use golden::{Golden, compare_with_golden, golden_is_whole, in_short, require_golden};
pub use in_situ::{check_sums, in_situ_between, in_situ_equal};
pub use output::{
    OutputVariation, RunFiles, check_manifest, no_reference, outputs_equal, read_text,
};
pub use runtime::{capture_complete, check_runtime, launched, opaque_assembly, shared_memory};
pub use scan::{checks, uninitialised};
pub use selection::{check_selection, selection_of};
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

/// A check that held, with a warning.
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

/// A check without anything to compare with.
pub(crate) fn not_compared(check: &str, why: NotCompared, detail: impl Into<String>) -> Check {
    Check {
        not_compared: Some(why),
        ..failed(check, detail)
    }
}
