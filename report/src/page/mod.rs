//! The page of a run: a self-contained `index.html` that needs no network and no script.

mod benchmark;
mod communication;
mod places;
mod published;
pub mod trends;

pub use communication::{Measured, measured};

use crate::error::Result;
use crate::figures::{self, data_volume};
use crate::html::{
    self, Cell, DASH, Meaning, description_list, document, id, link, references, section, table,
};
use crate::papers::RIEBER;
use crate::published::{Beside, of_run};
use maud::{Markup, html};
use std::fs;
use std::path::{Path, PathBuf};
use superstep_analysis::communication::Matching;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Status};
use superstep_analysis::tables;
use superstep_table::{FileError, Table};

/// Redraws a run from its summary and the tables in `folder`: figures, tables of claims and published values, `index.html`.
/// Returns the path of the page.
pub fn redraw(folder: &Path, run: &RunSummary) -> Result<PathBuf> {
    let run = &run.by_process();
    let measured = measured(folder, run)?;
    let rows = of_run(run, &measured);
    let drawings = folder.join("figures");
    let mut volumes = data_volume(run);
    published::mark(&mut volumes, &rows);
    if !volumes.plots.is_empty() {
        figures::write(&volumes, &drawings)?;
    }
    if !measured.is_empty() {
        for figure in communication::side_by_side(&measured, &rows) {
            figures::write(&figure, &drawings)?;
        }
    }
    for (name, metrics) in &measured {
        for figure in figures::communication::all(&[(name, metrics)]) {
            figures::write(&figure, &drawings.join(name))?;
        }
    }
    let claims = communication::claims(run, &measured);
    if !claims.is_empty() {
        tables::write(&folder.join("tables"), &[Table::of(&claims)])?;
    }
    if !rows.is_empty() {
        tables::write(&folder.join("tables"), &[Table::of(&rows)])?;
    }
    let path = folder.join("index.html");
    let page = index(run, &measured)?;
    fs::write(&path, page).map_err(FileError::at("write", &path))?;
    Ok(path)
}

pub fn index(run: &RunSummary, measured: &[(String, Metrics)]) -> Result<String> {
    let rows = of_run(run, measured);
    let parts = [
        ("results", "Results", results(run)),
        ("failures", "Failures", failures(run)),
        ("volume", "Data volume", volume(run, &rows)?),
        (
            "communication",
            "Communication",
            communication::section(run, measured, &rows)?,
        ),
        (
            "published",
            "Published and measured values",
            published::section(&rows),
        ),
        (
            "claims",
            "Statements of the thesis",
            communication::claims_section(run, measured),
        ),
    ];
    let named = |(id, name, part): (&str, &str, Markup)| (id.to_owned(), name.to_owned(), part);
    // Leave out parts without content.
    let parts = parts.into_iter().filter(|(.., part)| !part.0.is_empty());
    let mut parts: Vec<_> = parts.map(named).collect();
    for benchmark in &run.benchmarks {
        let (name, part) = (&benchmark.name, benchmark::section(benchmark, measured)?);
        parts.push((id("benchmark", name), name.clone(), part));
    }
    parts.push(named(("provenance", "Provenance", provenance(run))));
    parts.push(named(("references", "References", references([&RIEBER]))));
    let header = html! {
        p { (outcome(run)) }
        (html::contents(parts.iter().map(|(id, name, _)| (id.clone(), name.clone()))))
    };
    let main = html! { @for (.., part) in &parts { (part) } };
    let title = format!("{} suite, size {}, on {}", run.suite, run.size, run.backend);
    Ok(document(&title, &header, &main))
}

fn outcome(run: &RunSummary) -> String {
    let programs = || run.benchmarks.iter().filter(|b| b.process.is_none());
    let count = |status| programs().filter(|b| b.status == status).count();
    let mut parts = vec![format!("{} passed", count(Status::Passed))];
    for (status, word) in [(Status::Failed, "failed"), (Status::Skipped, "skipped")] {
        if count(status) > 0 {
            parts.push(format!("{} {word}", count(status)));
        }
    }
    let not_compared = programs().filter(|b| b.not_compared().is_some());
    let not_compared = not_compared.count();
    if not_compared > 0 {
        parts.push(format!("{not_compared} not compared with a golden result"));
    }
    format!(
        "{} benchmarks: {}. Device: {}. Finished {}.",
        programs().count(),
        parts.join(", "),
        run.device,
        run.finished
    )
}

fn results(run: &RunSummary) -> Markup {
    let caption = "Accesses count once per thread. An atomic is neither a load nor a store, but its bytes count as both loaded and stored.";
    let rows = run.benchmarks.iter().map(result_row);
    section("results", "Results", table(caption, rows))
}

fn result_row(benchmark: &BenchmarkSummary) -> [(&'static str, Cell); 13] {
    let (threads, bytes) = (benchmark.threads, benchmark.bytes);
    let [loaded, stored] = [0, 1].map(|at| bytes.map(|bytes| bytes.with_atomics()[at]));
    let share = benchmark
        .communication
        .map(|c| c.share_in_words(figures::numbers::percent));
    let name = Cell::Link {
        text: benchmark.name.clone(),
        id: id("benchmark", &benchmark.name),
    };
    // The first digits suffice to compare digests by eye.
    let digest = benchmark.digest.as_deref().unwrap_or(DASH).chars().take(12);
    [
        ("Benchmark", name),
        ("Status", status(benchmark.status)),
        ("Launches", Cell::count(benchmark.launches)),
        ("CTAs", Cell::count(benchmark.ctas)),
        ("Thread loads", Cell::count(threads.map(|t| t.loads))),
        ("Thread stores", Cell::count(threads.map(|t| t.stores))),
        ("Thread atomics", Cell::count(threads.map(|t| t.atomics))),
        ("Bytes loaded", Cell::count(loaded)),
        ("Bytes stored", Cell::count(stored)),
        (
            "Communicated",
            Cell::Number(share.unwrap_or(DASH.to_owned())),
        ),
        ("Digest", Cell::Code(digest.collect())),
        ("Native, s", seconds(benchmark.seconds.native)),
        ("Traced, s", seconds(benchmark.seconds.traced)),
    ]
}

fn status(status: Status) -> Cell {
    let meaning = match status {
        Status::Passed => Meaning::Good,
        Status::Failed => Meaning::Bad,
        Status::Skipped => Meaning::Neutral,
    };
    Cell::Word(status.as_str().to_owned(), meaning)
}

fn seconds(value: Option<f64>) -> Cell {
    Cell::Number(value.map_or(DASH.to_owned(), |value| format!("{value:.3}")))
}

fn failures(run: &RunSummary) -> Markup {
    let failed = run.benchmarks.iter();
    let failed = failed.filter_map(|it| Some((&it.name, it.failure.as_ref()?)));
    let failures = html! {
        @for (name, failure) in failed {
            h3 { (link(&id("benchmark", name), name)) ": " (failure.kind) }
            pre { (failure.message) }
        }
    };
    html! { @if !failures.0.is_empty() { (section("failures", "Failures", failures)) } }
}

fn volume(run: &RunSummary, rows: &[Beside]) -> Result<Markup> {
    let mut figure = data_volume(run);
    published::mark(&mut figure, rows);
    let content = html! {
        (communication::embed(&figure, figure.name)?)
        (published::beneath(figure.name, rows))
    };
    Ok(section("volume", "Data volume", content))
}

fn provenance(run: &RunSummary) -> Markup {
    let matched_by = match run.matching {
        Matching::Bytes => "byte",
        Matching::ExactAddress => "address of the access, as in the thesis",
    };
    let (host, schema) = (&run.host, run.schema_version);
    let facts = [
        ("Tool", run.tool.clone()),
        ("Command", run.command.join(" ")),
        ("Device", format!("{} ({})", run.device, run.backend)),
        ("Communication matched by", matched_by.to_owned()),
        ("Host", format!("{}, {} cores", host.cpu, host.cores)),
        ("Started", run.started.clone()),
        ("Finished", run.finished.clone()),
        ("Result file", format!("run.json, schema {schema}")),
    ];
    let of_each = run.benchmarks.iter();
    let inputs = of_each.flat_map(|benchmark| {
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
    let content = html! {
        (description_list(&facts))
        @if inputs.peek().is_none() {
            p { "No benchmark read an input file." }
        } @else {
            (table("Input files", inputs))
        }
    };
    section("provenance", "Provenance", content)
}

#[cfg(test)]
mod tests;
