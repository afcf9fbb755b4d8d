//! Writes a probe's findings for all programs in a run: tables, figures and a page.

use std::fs;
use std::path::Path;

use superstep_report::probes::{ProbedBenchmark, Program, Study, add_overheads, page, study};
use superstep_report::{ReportError, figures};
use superstep_table::{Format, Table};
use superstep_trace::{ProbeResults, TraceError};

use super::ProbeRun;
use super::overhead::means;
use crate::capture;
use crate::results::{plain_table, table_lines};
use superstep_build::failure::Failure;

/// Maximum number of rows in a table on the terminal.
const MAX_ROWS: usize = 40;

/// Writes `tables/`, `figures/` and `index.html` into the folder of a run. Returns the probe's results as text.
pub fn write_study(folder: &Path, run: &ProbeRun) -> Result<String, Failure> {
    let passed = run.benchmarks.iter().filter(|row| row.failure.is_none());
    let passed: Vec<&ProbedBenchmark> = passed.collect();
    let open = |row: &&ProbedBenchmark| {
        let results = ProbeResults::open(&folder.join(&row.name).join("results"))?;
        Ok((row.name.clone(), results))
    };
    let results = passed
        .iter()
        .map(open)
        .collect::<Result<Vec<_>, TraceError>>();
    let results = results.map_err(capture::failure)?;
    let programs: Vec<Program<'_>> = (results.iter())
        .map(|(name, results)| Program { name, results })
        .collect();
    let failed =
        |error: ReportError| Failure::internal("summarise the findings of the probe", error);
    let mut found = study(&run.probe, &run.suite, &programs).map_err(failed)?;
    add_overheads(&mut found, &run.suite, &run.probe, &passed);
    write_found(folder, &found)?;
    write_run_page(folder, run, &found)?;
    let texts = (found.tables.iter().enumerate())
        .filter(|(index, table)| *index == 0 || table.name() == "published");
    let texts: Vec<String> = texts.map(|(_, table)| as_text(table)).collect();
    Ok(texts.join("\n\n"))
}

pub fn write_found(folder: &Path, found: &Study) -> Result<(), Failure> {
    const WRITE: &str = "write tables and figures into";
    for table in &found.tables {
        let written = table.write_into(&folder.join("tables"), &Format::ALL);
        written.map_err(Failure::io(WRITE, &folder))?;
    }
    for figure in &found.figures {
        let written = figures::write(figure, &folder.join("figures"));
        written.map_err(Failure::io(WRITE, &folder))?;
    }
    Ok(())
}

fn write_run_page(folder: &Path, run: &ProbeRun, found: &Study) -> Result<(), Failure> {
    let mut lines = vec![
        format!(
            "Suite {}, size {}, backend {}, device {}, {}.",
            run.suite, run.size, run.backend, run.device, run.started
        ),
        format!("Command: {}", run.command.join(" ")),
    ];
    lines.extend(means(run).map(|text| text + "."));
    let failures = run.benchmarks.iter().filter_map(|row| row.failure.as_ref());
    lines.extend(failures.map(ToString::to_string));
    let title = format!("{} on {}", run.probe, run.suite);
    write_page(folder, (&run.probe, &run.title), &title, &lines, found)
}

/// Writes `index.html` into `folder`, for a probe with this name and title.
pub fn write_page(
    folder: &Path,
    probe: (&str, &str),
    title: &str,
    lines: &[String],
    found: &Study,
) -> Result<(), Failure> {
    let text = page(title, probe, lines, found)
        .map_err(|error| Failure::internal("draw the findings of the probe", error))?;
    let path = folder.join("index.html");
    fs::write(&path, text).map_err(Failure::io("write", &path))
}

fn as_text(table: &Table) -> String {
    let header = table.columns().map(|column| column.name.replace('_', " "));
    let mut text = plain_table(header, false);
    for row in 0..table.rows().min(MAX_ROWS) {
        let cells = table.texts(row).into_iter();
        text.add_row(cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned())));
    }
    let mut lines = table_lines(text, 1);
    if table.rows() > MAX_ROWS {
        let (rows, name) = (table.rows(), table.name());
        lines.push(format!(
            "the first {MAX_ROWS} of {rows} rows; tables/{name}.csv has all of them"
        ));
    }
    lines.join("\n")
}
