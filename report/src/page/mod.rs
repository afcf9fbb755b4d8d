//! The page of a run: a self-contained `index.html` that needs no network and works without its script.

mod benchmark;
mod communication;
mod front;
mod places;
mod published;
mod source;
pub mod trends;

pub use communication::measured;
pub(crate) use communication::metrics_of;
pub use source::source_file;

use crate::error::Result;
use crate::figures::multiples::Multiples;
use crate::figures::{self, Programs};
use crate::html::{self, Cell, DASH, description_list, document, id, link, section, table};
use crate::papers::RIEBER;
use crate::published::{Comparison, of_run};
use maud::{Markup, html};
use rayon::prelude::*;
use std::fs;
use std::path::Path;
use superstep_analysis::communication::Matching;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary};
use superstep_analysis::tables;
use superstep_table::{FileError, Table};

/// Redraws a run from its summary and the tables in `folder`: figures, tables of claims and published values, and
/// `index.html`.
pub fn redraw(folder: &Path, run: &RunSummary) -> Result<()> {
    let run = &run.by_process();
    let measured = measured(folder, run)?;
    let rows = of_run(run, &measured);
    let drawings = folder.join("figures");
    (side_by_side(run, &measured, &rows).par_iter())
        .try_for_each(|figure| figures::write(figure, &drawings))?;
    measured.par_iter().try_for_each(|(name, metrics)| {
        let figures = figures::communication::all(&[(name, metrics)]);
        let folder = drawings.join(name);
        (figures.par_iter()).try_for_each(|it| figures::write(it, &folder))
    })?;
    let claims = communication::claims(run, &measured);
    for table in [Table::of(&claims), Table::of(&rows)] {
        if table.rows() > 0 {
            tables::write(&folder.join("tables"), &[table])?;
        }
    }
    let path = folder.join("index.html");
    let page = page(run, &measured, folder)?;
    fs::write(&path, page).map_err(FileError::at("write", &path))?;
    Ok(())
}

/// Renders the page of a run, with source lines from the files in its folder.
pub fn page(run: &RunSummary, measured: &[(String, Metrics)], folder: &Path) -> Result<String> {
    let rows = of_run(run, measured);
    let claims = communication::claims(run, measured);
    let is_single = single(run).is_some();
    let part = |id: &str, name: &str, content| Part {
        id: id.to_owned(),
        entry: link(id, name),
        heading: html! { (name) },
        content,
    };
    let findings = front::content(run, measured, &rows, &claims);
    let mut parts = vec![
        part("findings", "Findings", findings),
        part("failures", "Failures", failures(run)),
    ];
    if !is_single {
        parts.push(part("results", "Counts and times", results(run)));
    }
    let figures = side_by_side(run, measured, &rows).into_iter();
    let (volumes, others): (Vec<_>, Vec<_>) = figures.partition(|it| it.name == "data-volume");
    let volumes = communication::with_published(&volumes, &rows)?;
    let communication = communication::content(run, measured, &rows, &others)?;
    let published = published::content(&rows);
    let claims = communication::claims_content(run, claims);
    let figures = [
        part("volume", "Data volume", volumes),
        part("communication", "Communication", communication),
        part("published", "Published and measured values", published),
        part("claims", "Statements of the thesis", claims),
    ];
    let benchmarks = run.benchmarks.iter().map(|it| {
        let metrics = metrics_of(measured, &it.name);
        Ok(Part {
            id: id("benchmark", &it.name),
            entry: html! { (to_section(it)) (front::mark(it)) },
            heading: benchmark::heading(it),
            content: benchmark::content(it, metrics, is_single, folder)?,
        })
    });
    let benchmarks = benchmarks.collect::<Result<Vec<_>>>()?;
    // The kernels, arrays and lines of a single program come before its figures.
    match is_single {
        true => parts.extend(benchmarks.into_iter().chain(figures)),
        false => parts.extend(figures.into_iter().chain(benchmarks)),
    }
    parts.push(part("provenance", "Provenance", provenance(run)));
    let works = description_list(&[RIEBER]);
    parts.push(part("references", "References", works));
    parts.retain(|part| !part.content.0.is_empty());
    let entries = parts.iter().map(|part| &part.entry);
    let header = html! { (front::outcome(run)) (html::contents(entries)) };
    let main = html! { @for part in &parts { (section(&part.id, &part.heading, &part.content)) } };
    Ok(document(&front::title(run), &header, &main))
}

struct Part {
    id: String,
    /// Entry in the table of contents.
    entry: Markup,
    heading: Markup,
    /// Empty if the page omits the section.
    content: Markup,
}

fn to_section(benchmark: &BenchmarkSummary) -> Markup {
    link(&id("benchmark", &benchmark.name), &benchmark.name)
}

/// Returns the program of a run with only one program, in any number of processes.
fn only_program(run: &RunSummary) -> Option<&BenchmarkSummary> {
    let mut programs = run.benchmarks.iter().filter(|it| it.process.is_none());
    let program = programs.next().filter(|_| run.planned.len() <= 1);
    program.filter(|_| programs.next().is_none())
}

/// Returns the program of a run with only one program, in one process.
fn single(run: &RunSummary) -> Option<&BenchmarkSummary> {
    only_program(run).filter(|_| run.benchmarks.len() == 1)
}

fn results(run: &RunSummary) -> Markup {
    let caption = "Accesses count once per thread. An atomic is neither a load nor a store, but its bytes count as both loaded and stored.";
    let rows = run.benchmarks.iter().map(result_row);
    table(caption, rows)
}

fn result_row(benchmark: &BenchmarkSummary) -> [(&'static str, Cell); 11] {
    let (threads, bytes) = (benchmark.threads, benchmark.bytes);
    let (status, meaning) = front::status(benchmark);
    let [loaded, stored] = [0, 1].map(|at| bytes.map(|bytes| bytes.with_atomics()[at]));
    [
        ("Benchmark", Cell::Markup(to_section(benchmark))),
        ("Result", Cell::Word(status, meaning)),
        ("Launches", Cell::count(benchmark.launches)),
        ("CTAs", Cell::count(benchmark.ctas)),
        ("Thread loads", Cell::count(threads.map(|t| t.loads))),
        ("Thread stores", Cell::count(threads.map(|t| t.stores))),
        ("Thread atomics", Cell::count(threads.map(|t| t.atomics))),
        ("Bytes loaded", Cell::count(loaded)),
        ("Bytes stored", Cell::count(stored)),
        ("Native, s", seconds(benchmark.seconds.native)),
        ("Traced, s", seconds(benchmark.seconds.traced)),
    ]
}

fn seconds(value: Option<f64>) -> Cell {
    Cell::Number(value.map_or(DASH.to_owned(), |value| format!("{value:.3}")))
}

fn failures(run: &RunSummary) -> Markup {
    let failed = run.benchmarks.iter();
    let failed = failed.filter_map(|it| Some((it, it.failure.as_ref()?)));
    html! {
        @for (benchmark, failure) in failed {
            h3 { (to_section(benchmark)) ": " (failure.kind) }
            pre { (failure.message) }
        }
    }
}

/// Draws the figures of all programs side by side, with the published values.
fn side_by_side(
    run: &RunSummary,
    measured: &[(String, Metrics)],
    rows: &[Comparison],
) -> Vec<Multiples> {
    let mut figures = Programs::of_run(run, measured).figures();
    for figure in &mut figures {
        published::mark(figure, rows);
    }
    figures
}

fn provenance(run: &RunSummary) -> Markup {
    let matched_by = match run.matching {
        Matching::Bytes => "byte",
        Matching::ExactAddress => "address of the access, as in the thesis",
    };
    let (host, schema) = (&run.host, run.schema_version);
    let device = match &*run.device {
        "" => format!("unknown ({})", run.backend),
        device => format!("{device} ({})", run.backend),
    };
    let facts = [
        ("Tool", run.tool.clone()),
        ("Command", run.command.join(" ")),
        ("Device", device),
        ("Communication matched by", matched_by.to_owned()),
        ("Host", format!("{}, {} cores", host.cpu, host.cores)),
        ("Started", run.started.clone()),
        ("Finished", run.finished.clone()),
        ("Result file", format!("run.json, schema {schema}")),
    ];
    let inputs = (run.benchmarks.iter()).flat_map(|benchmark| {
        benchmark.inputs.iter().map(|input| {
            [
                ("File", Cell::Text(input.name.clone())),
                ("Benchmark", Cell::Text(benchmark.name.clone())),
                ("Origin", Cell::Text(input.origin.clone())),
                ("SHA-256", Cell::Code(input.sha256.clone())),
            ]
        })
    });
    let mut inputs = inputs.peekable();
    let digests = run.benchmarks.iter().filter_map(|benchmark| {
        let digest = Cell::Code(benchmark.digest.clone()?);
        let name = Cell::Text(benchmark.name.clone());
        Some([("Benchmark", name), ("Digest", digest)])
    });
    let mut digests = digests.peekable();
    html! {
        (description_list(&facts))
        @if digests.peek().is_some() { (table("Digests of all accesses", digests)) }
        @if inputs.peek().is_some() {
            (table("Input files", inputs))
        } @else {
            p { "No benchmark read an input file." }
        }
    }
}

#[cfg(test)]
mod tests;
