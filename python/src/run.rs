//! Tables and figures of a run, for `superstep.run`.

use std::fs;
use std::path::PathBuf;

use pyo3::prelude::*;
use superstep_analysis::run_summary::RunSummary;
use superstep_report::figures::Programs;
use superstep_report::{Result, page};
use superstep_table::FileError;

use crate::figure::Figure;
use crate::stream::Table;
use crate::{failure, report_error};

/// Reads a table from its JSON file.
#[pyfunction]
pub fn read_table(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let table = py.detach(|| superstep_table::Table::read_json(&path));
    table.map(Table).map_err(failure)
}

/// Returns the figures of a run, or only the one called `name`, for one benchmark or for all benchmarks side by side.
#[pyfunction]
pub fn run_figures(
    py: Python<'_>,
    folder: PathBuf,
    benchmark: Option<&str>,
    name: Option<&str>,
) -> PyResult<Vec<Figure>> {
    let figures = py.detach(|| -> Result<_> {
        let path = folder.join("run.json");
        let text = fs::read(&path).map_err(FileError::at("read", &path))?;
        let run: RunSummary =
            serde_json::from_slice(&text).map_err(FileError::at("read", &path))?;
        let mut run = run.by_process();
        if let Some(benchmark) = benchmark {
            run.benchmarks.retain(|summary| summary.name == benchmark);
        }
        let measured = page::measured(&folder, &run)?;
        let programs = Programs::of_run(&run, measured);
        match name {
            None => Ok(programs.figures()),
            Some(name) => Ok(vec![programs.figure(name)?]),
        }
    });
    let figures = figures.map_err(report_error)?.into_iter();
    Ok(figures.map(Figure).collect())
}
