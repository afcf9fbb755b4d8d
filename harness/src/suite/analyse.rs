//! The analysis of one benchmark's capture, and what is drawn from all of them.

use std::path::Path;

use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::run_summary::{BenchmarkSummary, CommunicationSummary};
use superstep_analysis::{AnalysisError, RunSummary, analyse_within, report, tables};
use superstep_trace::Capture;

use crate::failure::{Failure, chain};
use crate::results::RunFolder;
use crate::suite::SuiteOptions;

/// Adds the communication of a capture to the benchmark's record, and writes its tables into `folder`, where also lies what
/// the memory that `options` allow has no room for.
///
/// # Errors
/// The capture cannot be analysed, or the tables cannot be written.
pub(super) fn benchmark(
    capture: &Capture,
    folder: &Path,
    options: &SuiteOptions,
    record: &mut BenchmarkSummary,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::internal(format_args!("create {}", folder.display()), error))?;
    let limit = MemoryLimit {
        bytes: options.analysis_memory_bytes.unwrap_or(u64::MAX),
        spill_into: folder.to_owned(),
    };
    let kept = Options {
        matching: options.matching,
        ..Options::everything()
    };
    let analysis = analyse_within(capture, kept, &limit).map_err(|error| failure(&error))?;
    let total = &analysis.communication.total;
    record.communication = Some(CommunicationSummary::new(
        total.stored_bytes,
        total.communicated_stored_bytes,
    ));
    tables::write_tables(folder, &analysis, capture.sites()).map_err(|error| failure(&error))?;
    Ok(())
}

/// Draws the figures and the page of a run from its summary and its tables.
///
/// # Errors
/// A table cannot be read, or a file cannot be written.
pub fn redraw(folder: &RunFolder, summary: &RunSummary) -> Result<(), Failure> {
    report::redraw(folder.path(), summary).map_err(|error| failure(&error))?;
    Ok(())
}

fn failure(error: &AnalysisError) -> Failure {
    Failure::internal("analyse the results", chain(error))
}
