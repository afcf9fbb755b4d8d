//! The analysis of one benchmark's capture, and what is drawn from all of them.

use superstep_analysis::RunSummary;
use superstep_analysis::run_summary::BenchmarkSummary;
use superstep_trace::Capture;

use crate::failure::Failure;
use crate::results::RunFolder;

/// Adds what the analysis says about a capture to the benchmark's record.
pub(super) fn benchmark(_capture: &Capture, _record: &mut BenchmarkSummary) -> Result<(), Failure> {
    Ok(())
}

/// Draws tables, figures and the page of a run from its results.
pub fn redraw(_folder: &RunFolder, _summary: &RunSummary) -> Result<(), Failure> {
    Ok(())
}
