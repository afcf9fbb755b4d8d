//! What a probe found over all programs of a run: tables, figures and a page, beside `run.json`.

use std::fs;
use std::path::Path;

use superstep_analysis::probes::{Program, Study, page, study};
use superstep_analysis::tables::{self, Table};
use superstep_analysis::{AnalysisError, figures};
use superstep_trace::{ProbeResults, TraceError};

use super::{ProbeRun, run_table};
use crate::failure::{Failure, FailureKind};

/// Writes `tables/`, `figures/` and `index.html` into the folder of a run. Answers the study's first table as text, where the
/// probe is one that has a study.
///
/// # Errors
/// Results cannot be read, or a file not be written.
pub fn write_study(folder: &Path, run: &ProbeRun) -> Result<Option<String>, Failure> {
    let trace = |error: TraceError| Failure::new(FailureKind::Capture, error.to_string());
    let passed = run.benchmarks.iter().filter(|row| row.failure.is_none());
    let results = passed
        .map(|row| {
            let results = folder.join(&row.name).join("results");
            ProbeResults::open(&results).map(|results| (row.name.as_str(), results))
        })
        .collect::<Result<Vec<_>, _>>()
        .map_err(trace)?;
    let programs: Vec<Program<'_>> = (results.iter())
        .map(|(name, results)| Program { name, results })
        .collect();
    let failed = |error: AnalysisError| Failure::internal("sum up what the probe found", error);
    let found = study(&run.probe, &programs).map_err(failed)?;
    let known = found.is_some();
    let found = found.unwrap_or_default();
    write(folder, run, &found).map_err(failed)?;
    Ok((found.tables.first().filter(|_| known)).map(as_text))
}

fn write(folder: &Path, run: &ProbeRun, found: &Study) -> Result<(), AnalysisError> {
    let io = |action, path: &Path| {
        let path = path.to_owned();
        move |source| AnalysisError::Io {
            action,
            path,
            source,
        }
    };
    let place = folder.join("tables");
    fs::create_dir_all(&place).map_err(io("create", &place))?;
    tables::write(&place, &found.tables)?;
    for figure in &found.figures {
        figures::write(figure, &folder.join("figures"))?;
    }
    let lines = [
        format!("{} ({}).", run.title, run.probe),
        format!(
            "Suite {}, size {}, backend {}, device {}, {}.",
            run.suite, run.size, run.backend, run.device, run.started
        ),
        format!("Command: {}", run.command.join(" ")),
    ];
    let title = format!("{} on {}", run.probe, run.suite);
    let text = page(&title, &lines, &run_table(run), found)?;
    let path = folder.join("index.html");
    fs::write(&path, text).map_err(io("write", &path))
}

/// A table for a terminal.
fn as_text(table: &Table) -> String {
    let mut text = comfy_table::Table::new();
    text.load_preset(comfy_table::presets::NOTHING)
        .set_content_arrangement(comfy_table::ContentArrangement::Disabled)
        .force_no_tty();
    text.set_header(table.columns.iter().map(|c| c.name.replace('_', " ")));
    for row in &table.rows {
        text.add_row(row.iter().map(|value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        }));
    }
    for column in text.column_iter_mut().skip(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}
