//! The page of a run: one self-contained `index.html`, which needs no network and no script.

mod benchmark;
mod communication;
pub mod compare;
mod places;

pub use communication::{Measured, measured};

use crate::error::{ReportError, Result};
use crate::figures::{self, DataVolume, Figure, escape};
use crate::html::{Cell, Meaning, description_list, document, id, references, table};
use crate::papers::{RIEBER, STUDIES};
use crate::probes;
use crate::run_summary::{BenchmarkSummary, RunSummary, Status};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use superstep_analysis::communication::Matching;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::tables;
use superstep_table::Table;

/// Draws everything of a run again from its summary and the tables in `folder`: figures, the table of claims, `index.html`.
/// Returns the path of the page.
pub fn redraw(folder: &Path, run: &RunSummary) -> Result<PathBuf> {
    let measured = measured(folder, run)?;
    let drawings = folder.join("figures");
    let volumes = DataVolume::from_run(run);
    if !volumes.rows.is_empty() {
        figures::write(&volumes, &drawings)?;
    }
    if !measured.is_empty() {
        for figure in communication::side_by_side(&measured) {
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
    let path = folder.join("index.html");
    let page = index(run, &measured, &probes::sections(folder)?)?;
    fs::write(&path, page).map_err(ReportError::io("write", &path))?;
    Ok(path)
}

/// The page as text. `probes` are what probes found in the same programs.
pub fn index(
    run: &RunSummary,
    measured: &[(String, Metrics)],
    probes: &[probes::Section],
) -> Result<String> {
    let mut header = format!("<p>{}</p>\n", escape(&outcome(run)));
    contents(&mut header, run, measured, probes);
    let mut out = String::new();
    results(&mut out, run);
    failures(&mut out, run);
    volume(&mut out, run)?;
    communication::section(&mut out, measured)?;
    communication::claims_section(&mut out, run, measured);
    for section in probes {
        out.push_str(&section.html);
    }
    for benchmark in &run.benchmarks {
        benchmark::section(&mut out, benchmark, measured)?;
    }
    provenance(&mut out, run);
    let studies = if probes.is_empty() { &[] } else { &STUDIES[..] };
    references(&mut out, [&RIEBER].into_iter().chain(studies));
    let title = format!("{} suite, size {}, on {}", run.suite, run.size, run.backend);
    Ok(document(&title, &header, &out))
}

/// How the run went, in a sentence.
fn outcome(run: &RunSummary) -> String {
    let count = |status| run.benchmarks.iter().filter(|b| b.status == status).count();
    let mut parts = vec![format!("{} passed", count(Status::Passed))];
    for (status, word) in [(Status::Failed, "failed"), (Status::Skipped, "skipped")] {
        if count(status) > 0 {
            parts.push(format!("{} {word}", count(status)));
        }
    }
    let not_compared = run.benchmarks.iter().filter(|b| b.not_compared().is_some());
    let not_compared = not_compared.count();
    if not_compared > 0 {
        parts.push(format!("{not_compared} not compared with a golden result"));
    }
    format!(
        "{} benchmarks: {}. Device: {}. Finished {}.",
        run.benchmarks.len(),
        parts.join(", "),
        run.device,
        run.finished
    )
}

fn contents(
    out: &mut String,
    run: &RunSummary,
    measured: &[(String, Metrics)],
    probes: &[probes::Section],
) {
    out.push_str(
        "<nav aria-label=\"Contents\">\n<ul>\n<li><a href=\"#results\">Results</a></li>\n",
    );
    if has_failures(run) {
        out.push_str("<li><a href=\"#failures\">Failures</a></li>\n");
    }
    out.push_str("<li><a href=\"#volume\">Data volume</a></li>\n");
    if !measured.is_empty() {
        out.push_str("<li><a href=\"#communication\">Communication</a></li>\n");
    }
    if !communication::claims(run, measured).is_empty() {
        out.push_str("<li><a href=\"#claims\">Statements of the thesis</a></li>\n");
    }
    for section in probes {
        let _ = writeln!(
            out,
            "<li><a href=\"#{}\">Probe {}</a></li>",
            probes::heading(&section.probe),
            escape(&section.probe)
        );
    }
    for benchmark in &run.benchmarks {
        let _ = writeln!(
            out,
            "<li><a href=\"#{}\">{}</a></li>",
            id("benchmark", &benchmark.name),
            escape(&benchmark.name)
        );
    }
    out.push_str(
        "<li><a href=\"#provenance\">Provenance</a></li>\n\
         <li><a href=\"#references\">References</a></li>\n</ul>\n</nav>\n",
    );
}

fn results(out: &mut String, run: &RunSummary) {
    out.push_str("<section aria-labelledby=\"results\">\n<h2 id=\"results\">Results</h2>\n");
    let columns = [
        ("Benchmark", false),
        ("Status", false),
        ("Launches", true),
        ("CTAs", true),
        ("Thread loads", true),
        ("Thread stores", true),
        ("Thread atomics", true),
        ("Bytes loaded", true),
        ("Bytes stored", true),
        ("Communicated", true),
        ("Digest", false),
        ("Native, s", true),
        ("Traced, s", true),
    ];
    let caption = "Accesses count once per thread. An atomic is neither a load nor a store, but its bytes count as both loaded and stored.";
    table(
        out,
        caption,
        &columns,
        run.benchmarks.iter().map(result_row),
    );
    out.push_str("</section>\n");
}

fn result_row(benchmark: &BenchmarkSummary) -> Vec<Cell> {
    let (threads, bytes) = (benchmark.threads, benchmark.bytes);
    let share = benchmark.communication.map(|c| c.share);
    vec![
        Cell::Link {
            text: benchmark.name.clone(),
            id: id("benchmark", &benchmark.name),
        },
        status(benchmark.status),
        Cell::count(benchmark.launches),
        Cell::count(benchmark.ctas),
        Cell::count(threads.map(|t| t.loads)),
        Cell::count(threads.map(|t| t.stores)),
        Cell::count(threads.map(|t| t.atomics)),
        Cell::count(bytes.map(|b| b.loaded + b.atomic)),
        Cell::count(bytes.map(|b| b.stored + b.atomic)),
        Cell::Number(share.map_or_else(|| "–".to_owned(), figures::numbers::percent)),
        Cell::Code(short(benchmark.digest.as_deref())),
        seconds(benchmark.seconds.native),
        seconds(benchmark.seconds.traced),
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

/// Enough of a digest to tell two apart by eye.
fn short(digest: Option<&str>) -> String {
    digest.map_or_else(
        || "–".to_owned(),
        |digest| digest.chars().take(12).collect(),
    )
}

fn seconds(value: Option<f64>) -> Cell {
    Cell::Number(value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}")))
}

fn has_failures(run: &RunSummary) -> bool {
    run.benchmarks.iter().any(|b| b.failure.is_some())
}

fn failures(out: &mut String, run: &RunSummary) {
    if !has_failures(run) {
        return;
    }
    out.push_str("<section aria-labelledby=\"failures\">\n<h2 id=\"failures\">Failures</h2>\n");
    for benchmark in &run.benchmarks {
        if let Some(failure) = &benchmark.failure {
            let _ = writeln!(
                out,
                "<h3><a href=\"#{}\">{}</a>: {}</h3>\n<pre>{}</pre>",
                id("benchmark", &benchmark.name),
                escape(&benchmark.name),
                escape(&failure.kind),
                escape(&failure.message)
            );
        }
    }
    out.push_str("</section>\n");
}

fn volume(out: &mut String, run: &RunSummary) -> Result<()> {
    let figure = DataVolume::from_run(run);
    let _ = write!(
        out,
        "<section aria-labelledby=\"volume\">\n<h2 id=\"volume\">Data volume</h2>\n<figure>\n{}\
         <figcaption>{}</figcaption>\n</figure>\n</section>\n",
        figures::svg(&figure)?,
        escape(figure.description())
    );
    Ok(())
}

fn provenance(out: &mut String, run: &RunSummary) {
    out.push_str(
        "<section aria-labelledby=\"provenance\">\n<h2 id=\"provenance\">Provenance</h2>\n",
    );
    description_list(
        out,
        &[
            ("Tool", run.tool.clone()),
            ("Command", run.command.join(" ")),
            ("Device", format!("{} ({})", run.device, run.backend)),
            (
                "Communication matched by",
                match run.matching {
                    Matching::Bytes => "byte",
                    Matching::ExactAddress => "address of the access, as in the thesis",
                }
                .to_owned(),
            ),
            (
                "Host",
                format!("{}, {} cores", run.host.cpu, run.host.cores),
            ),
            ("Started", run.started.clone()),
            ("Finished", run.finished.clone()),
            (
                "Result file",
                format!("run.json, schema {}", run.schema_version),
            ),
        ],
    );
    let inputs: Vec<Vec<Cell>> = (run.benchmarks.iter())
        .flat_map(|benchmark| benchmark.inputs.iter().map(move |input| (benchmark, input)))
        .map(|(benchmark, input)| {
            vec![
                Cell::Text(input.name.clone()),
                Cell::Text(benchmark.name.clone()),
                Cell::Text(input.origin.clone()),
                Cell::Code(input.sha256.clone()),
            ]
        })
        .collect();
    if inputs.is_empty() {
        out.push_str("<p>No benchmark read an input file.</p>\n");
    } else {
        let columns = [
            ("File", false),
            ("Benchmark", false),
            ("Origin", false),
            ("SHA-256", false),
        ];
        table(out, "Input files", &columns, inputs);
    }
    out.push_str("</section>\n");
}

#[cfg(test)]
mod tests;
