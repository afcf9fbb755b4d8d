//! Writes a probe's findings for all programs in a run (tables, figures and a page), and formats the probe's costs.

use std::fs;
use std::path::Path;

use superstep_report::figures::numbers::geometric_mean;
use superstep_report::probes::{ProbedBenchmark, Program, Study, add_overheads, page, study};
use superstep_report::{ReportError, figures};
use superstep_table::{Format, Table};
use superstep_trace::{Backend, ProbeResults};

use super::ProbeRun;
use crate::capture;
use crate::results::{kernel_ratio, plain_table, table_lines, time_ratio};
use superstep_build::failure::Failure;

/// Maximum number of rows in a table on the terminal.
const MAX_ROWS: usize = 40;

/// Writes `tables/`, `figures/` and `index.html` into the folder of a run. Returns the probe's results as text.
pub fn write_study(folder: &Path, run: &ProbeRun) -> Result<String, Failure> {
    let passed = run.benchmarks.iter().filter(|row| row.failure.is_none());
    let passed: Vec<&ProbedBenchmark> = passed.collect();
    let open = |row: &&ProbedBenchmark| -> Result<_, Failure> {
        let results = ProbeResults::open(&folder.join(&row.name).join("results"));
        Ok((row.name.clone(), results.map_err(capture::failure)?))
    };
    let results: Vec<_> = passed.iter().map(open).collect::<Result<_, _>>()?;
    let programs: Vec<Program<'_>> = (results.iter())
        .map(|(name, results)| Program { name, results })
        .collect();
    let failed =
        |error: ReportError| Failure::internal("summarise the findings of the probe", error);
    let mut found = study(&run.probe, &programs).map_err(failed)?;
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

/// Formats one line per program with its launches and times, followed by the geometric means.
pub fn run_table(run: &ProbeRun) -> String {
    let header = [
        "program", "launches", "native", "kernels", "probed", "kernels", "total", "kernels",
    ];
    let mut table = plain_table(header, false);
    for record in &run.benchmarks {
        if record.failure.is_some() {
            table.add_row([record.name.as_str(), "failed"]);
            continue;
        }
        let (total, kernel) = (total(record), kernel(run, record));
        let times = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |r| format!("{r:.2}x"));
        table.add_row([
            record.name.clone(),
            record.launches.to_string(),
            format!("{:.3} s", record.native_s),
            format!("{:.3} ms", record.native_kernel_ms),
            format!("{:.3} s", record.probed_s),
            format!("{:.3} ms", record.probed_kernel_ms),
            times(total),
            times(kernel),
        ]);
    }
    let mut lines = table_lines(table, 1);
    lines.extend(means(run));
    lines.extend(run.benchmarks.iter().filter_map(nothing_measured));
    lines.join("\n")
}

fn nothing_measured(record: &ProbedBenchmark) -> Option<String> {
    let name = &record.name;
    (record.failure.is_none() && record.probed_launches == Some(0)).then(|| match record.launches {
        0 => format!("warning: {name} launches no kernel; nothing was measured"),
        launches => format!(
            "warning: {name}: nothing was measured in its launches ({launches}): their kernels contain none of the places that \
             the probe names, or are excluded by `kernels` in its YAML file or by this command's options for choosing launches"
        ),
    })
}

/// Returns a sentence with the geometric means of the costs, or `None` if no times are comparable.
fn means(run: &ProbeRun) -> Option<String> {
    let mean = |what, ratio: &dyn Fn(&ProbedBenchmark) -> Option<f64>| {
        let passed = run.benchmarks.iter().filter(|row| row.failure.is_none());
        let ratios: Vec<f64> = passed.filter_map(ratio).collect();
        let programs = ratios.len();
        let mean = geometric_mean(ratios)?;
        Some(format!("{mean:.2}x the {what} over {programs} programs"))
    };
    let kernels = |record: &ProbedBenchmark| kernel(run, record);
    let means = [mean("wall time", &total), mean("kernel time", &kernels)];
    let means: Vec<String> = means.into_iter().flatten().collect();
    (!means.is_empty()).then(|| {
        let (probe, device, backend) = (&run.probe, &run.device, &run.backend);
        let means = means.join(", ");
        format!("{probe} on {device} ({backend}): geometric means: {means}")
    })
}

fn total(record: &ProbedBenchmark) -> Option<f64> {
    time_ratio(record.native_s, record.probed_s)
}

fn kernel(run: &ProbeRun, record: &ProbedBenchmark) -> Option<f64> {
    let (native, probed) = (record.native_kernel_ms / 1e3, record.probed_kernel_ms / 1e3);
    kernel_ratio(native, probed, run.backend == Backend::Cuda.to_string())
}

#[cfg(test)]
mod tests;
