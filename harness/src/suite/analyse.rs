//! Analyses captures, and draws the report of a run.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use superstep_analysis::communication::{Matching, Options};
use superstep_analysis::metrics::arrays;
use superstep_analysis::run_summary::{
    BenchmarkSummary, CommunicationSummary, RunSummary, WithinLaunchSummary,
};
use superstep_analysis::{Analysis, analyse_and_scan, analyse_within, tables};
use superstep_report::{ReportError, page, published};
use superstep_table::Table;
use superstep_trace::{ArrayName, Capture, SiteTable, SourcePlace};

use crate::capture;
use crate::results::RunFolder;
use crate::suite::{AnalysisOptions, memory_limit};
use crate::verify::{self, CaptureScan};
use superstep_build::failure::{Failure, FailureKind, chain};

/// Verifies and analyses a capture in one pass; `folder` holds temporary files. A failure of the analysis does not
/// hide the result of the verification.
pub(super) fn verify_and_analyse<'a>(
    capture: &'a Capture,
    folder: &Path,
    options: &AnalysisOptions,
) -> Result<(CaptureScan<'a>, Result<Analysis, Failure>), Failure> {
    let limit = memory_limit(options.analysis_memory, folder);
    match analyse_and_scan(capture, requested(options), &limit) {
        Ok((analysis, scan)) => Ok((scan, Ok(analysis))),
        Err(error) => {
            let scan = verify::scan(capture).map_err(capture::failure)?;
            Ok((scan, Err(capture::failure(error))))
        }
    }
}

pub(super) fn analyse(
    capture: &Capture,
    folder: &Path,
    options: &AnalysisOptions,
) -> Result<Analysis, Failure> {
    let limit = memory_limit(options.analysis_memory, folder);
    analyse_within(capture, requested(options), &limit).map_err(capture::failure)
}

fn requested(options: &AnalysisOptions) -> Options {
    Options {
        matching: options.matching,
        ..Options::everything()
    }
}

/// Adds an analysis to the benchmark's record, and writes its tables into `folder`.
pub(super) fn add(
    analysis: &Analysis,
    sites: &SiteTable,
    folder: &Path,
    options: &AnalysisOptions,
    record: &mut BenchmarkSummary,
) -> Result<Vec<Table>, Failure> {
    record
        .verification
        .push(verify::uninitialised(analysis, sites));
    let mut communication = CommunicationSummary::from(&analysis.communication.total);
    if let Some(in_situ) = &analysis.in_situ {
        communication.set_bounds(&in_situ.total);
    }
    record.communication = Some(communication);
    if options.matching == Matching::Bytes {
        record.within_launch = Some(WithinLaunchSummary::new(analysis, sites));
    }
    let tables = tables::tables(analysis, sites, &options.metrics.settings()).map_err(failure)?;
    tables::write(folder, &tables).map_err(failure)?;
    Ok(tables)
}

/// Returns the names of the variables that receive the addresses of a capture's allocations, according to the source.
pub(super) fn array_names(capture: &Capture, folder: &Path) -> Vec<ArrayName> {
    let places = capture.allocations().iter();
    let places: BTreeSet<&SourcePlace> = places.filter_map(|it| it.place.as_ref()).collect();
    let mut sources: HashMap<&str, Option<String>> = HashMap::new();
    let mut names = Vec::new();
    for place in places {
        let text = (sources.entry(&place.file))
            .or_insert_with(|| std::fs::read_to_string(folder.join(&place.file)).ok());
        let line = (place.line as usize)
            .checked_sub(1)
            .and_then(|index| text.as_ref()?.lines().nth(index));
        let name = line.and_then(|line| arrays::variable(line, place.column));
        names.extend(name.map(|name| ArrayName {
            place: place.clone(),
            name: name.to_owned(),
        }));
    }
    names
}

pub fn redraw(folder: &RunFolder, summary: &RunSummary) -> Result<(), Failure> {
    page::redraw(folder.path(), summary).map_err(failure)
}

/// Writes the thesis's published and measured values into a folder, and returns the path of the page.
pub fn reproduction(
    folder: &RunFolder,
    summary: &RunSummary,
    into: &Path,
) -> Result<PathBuf, Failure> {
    let measured = page::measured(folder.path(), summary).map_err(failure)?;
    published::write(into, summary, &measured).map_err(|error| match error {
        ReportError::Reproduction { .. } => Failure::new(FailureKind::Usage, error.to_string()),
        error => failure(error),
    })
}

pub(super) fn failure(error: impl std::error::Error) -> Failure {
    Failure::internal("analyse the results", chain(&error))
}
