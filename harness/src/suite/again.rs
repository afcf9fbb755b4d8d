//! Tables of a run made again with other choices, without running its programs.

use std::path::{Path, PathBuf};

use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::metrics::{CtaWindow, Metrics};
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary};
use superstep_analysis::{analyse_within, tables};
use superstep_table::{Row, Table};

use super::analyse::failure;
use crate::capture;
use crate::results::RunFolder;
use superstep_build::bail;
use superstep_build::failure::Failure;

fn measured<'a>(
    folder: &'a RunFolder,
    summary: &'a RunSummary,
) -> impl Iterator<Item = (&'a BenchmarkSummary, PathBuf)> {
    let tables = |benchmark: &'a BenchmarkSummary| (benchmark, folder.tables(&benchmark.name));
    let known = summary.benchmarks.iter().map(tables);
    known.filter(|(_, tables)| Metrics::are_in(tables))
}

/// Analyses the captures of a run again, for density tables with a map of `window`. Returns notes about grids that are too small.
/// If a capture is missing, no table has changed.
pub fn with_density(
    folder: &RunFolder,
    summary: &RunSummary,
    window: &CtaWindow,
    memory_bytes: Option<u64>,
) -> Result<Vec<String>, Failure> {
    let summary = &summary.by_process();
    let mut captures = Vec::new();
    for (benchmark, tables) in measured(folder, summary) {
        let path = folder.capture(&benchmark.name);
        if !path.is_dir() {
            bail!(
                Usage,
                "failed to draw the CTAs {window} of {}: its capture is gone ({}), and the tables have only the first CTAs; \
                 run it again with --density-ctas {window}, or without --no-captures",
                benchmark.name,
                path.display()
            );
        }
        captures.push((benchmark, tables, path));
    }
    let mut notes = Vec::new();
    for (benchmark, tables, path) in captures {
        let capture = capture::open(&path)?;
        let options = Options {
            transfers: true,
            matching: summary.matching,
            ..Options::default()
        };
        let limit = MemoryLimit {
            bytes: memory_bytes.unwrap_or(u64::MAX),
            spill_into: tables.clone(),
        };
        let analysis = analyse_within(&capture, options, &limit).map_err(capture::failure)?;
        let rows = Metrics::density_of(&analysis, capture.sites(), window).map_err(failure)?;
        let whole = rows.iter().find(|row| row.map == "whole");
        let first = *window.sources.start().max(window.receivers.start());
        if let Some(ctas) = whole.map(|row| row.ctas)
            && first >= ctas
        {
            notes.push(format!(
                "{}: no grid has a CTA {first}; the largest has {ctas} CTAs, numbers 0 to {}",
                benchmark.name,
                ctas - 1
            ));
        }
        write(&tables, &rows)?;
    }
    Ok(notes)
}

/// Rewrites the tables of several GPUs for links of `gb_per_s` 10⁹ bytes per second in one direction.
pub fn with_link(folder: &RunFolder, summary: &RunSummary, gb_per_s: f64) -> Result<(), Failure> {
    for (_, tables) in measured(folder, &summary.by_process()) {
        let metrics = Metrics::read(&tables).map_err(failure)?;
        let rows: Vec<_> = (metrics.unwrap_or_default().scaling.iter())
            .map(|row| row.with_link(gb_per_s))
            .collect();
        write(&tables, &rows)?;
    }
    Ok(())
}

fn write<R: Row>(folder: &Path, rows: &[R]) -> Result<(), Failure> {
    tables::write(folder, &[Table::of(rows)]).map_err(failure)?;
    Ok(())
}
