//! The page's communication figures, and the statements of the thesis compared with the measurements.

use super::{places, published, source};
use crate::claims::{self, Claim, Program, Verdict};
use crate::error::Result;
use crate::figures::communication::all;
use crate::figures::markup;
use crate::figures::multiples::Multiples;
use crate::html::{self, Cell, Meaning, fold, id, table};
use crate::papers::RIEBER;
use crate::published::{Comparison, is_published_run};
use maud::{Markup, html};
use std::borrow::Cow;
use std::path::Path;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::RunSummary;

/// Reads the metrics of all benchmarks that have tables in the run's `folder`. Returns names and metrics, in run order.
pub fn measured(folder: &Path, run: &RunSummary) -> Result<Vec<(String, Metrics)>> {
    let mut measured = Vec::new();
    for benchmark in &run.benchmarks {
        if let Some(mut metrics) = Metrics::read(&folder.join("tables").join(&benchmark.name))? {
            metrics.cta_blocks = benchmark.cta_blocks;
            measured.push((benchmark.name.clone(), metrics));
        }
    }
    Ok(measured)
}

/// Returns the metrics of the benchmark with this name, if it has any.
pub(crate) fn metrics_of<'a>(measured: &'a [(String, Metrics)], name: &str) -> Option<&'a Metrics> {
    let mut measured = measured.iter();
    Some(&measured.find(|(measured, _)| measured == name)?.1)
}

pub(super) fn claims(run: &RunSummary, measured: &[(String, Metrics)]) -> Vec<Claim> {
    // The statements are about whole programs, with CTAs as the unit of communication.
    let whole = (run.benchmarks.iter())
        .filter(|benchmark| benchmark.selection.is_none() && benchmark.cta_blocks.is_single_cta());
    let programs = whole.filter_map(|benchmark| {
        let (bytes, communication) = (benchmark.bytes?, benchmark.communication?);
        Some(Program {
            name: &benchmark.name,
            loaded_bytes: bytes.with_atomics()[0],
            stored_bytes: communication.stored_bytes,
            share: communication.share,
            metrics: Cow::Borrowed(metrics_of(measured, &benchmark.name)?),
        })
    });
    claims::evaluate(&programs.collect::<Vec<_>>(), is_published_run(run))
}

pub(super) fn content(
    run: &RunSummary,
    measured: &[(String, Metrics)],
    rows: &[Comparison],
    figures: &[Multiples],
) -> Result<Markup> {
    if measured.is_empty() {
        return Ok(html! {});
    }
    let untraced = (measured.iter()).filter(|(_, metrics)| metrics.strides.is_empty());
    let untraced: Vec<&str> = untraced.map(|(name, _)| name.as_str()).collect();
    Ok(html! {
        p {
            "A read is communication if another CTA or another kernel wrote the data in an earlier launch. \
             The tables behind the figures are in " code { "tables/" } "; " code { "figures/" } " contains each figure as SVG, PNG and CSV. \
             Figure numbers refer to the thesis (" (thesis()) ")."
        }
        @if !untraced.is_empty() {
            p { "Strides (figure 6.5) need a trace; there is none for " (untraced.join(", ")) "." }
        }
        (published::introduction(run, rows))
        (with_published(figures, rows)?)
    })
}

/// Renders figures of all programs, each with a table of published values below.
pub(super) fn with_published(figures: &[Multiples], rows: &[Comparison]) -> Result<Markup> {
    Ok(html! {
        @for figure in figures {
            (markup(figure, figure.name)?)
            (published::beneath(figure.name, rows))
        }
    })
}

pub(super) fn thesis() -> Markup {
    html::link("references", RIEBER.0)
}

/// Renders the tables of one benchmark, and its figures unless `is_single`, in which case the page already has them.
pub(super) fn from_benchmark(
    name: &str,
    metrics: &Metrics,
    is_single: bool,
    folder: &Path,
) -> Result<Markup> {
    let summary = format!("Communication of {name}, figure by figure");
    Ok(html! {
        (places::carriers(name, metrics))
        (source::section(folder, name, metrics))
        @if !is_single {
            (fold(&summary, false, html! {
                @for figure in all(&[(name, metrics)]) { (markup(&figure, &id(figure.name, name))?) }
            }))
        }
        (places::details(name, metrics))
    })
}

pub(super) fn claims_content(run: &RunSummary, claims: Vec<Claim>) -> Markup {
    if claims.is_empty() {
        return html! {};
    }
    let count = |verdict| claims.iter().filter(|it| it.verdict == verdict).count();
    let introduction = html! {
        p {
            "Of " (claims.len()) " statements that the thesis makes about its figures (" (thesis()) "), "
            (count(Verdict::Holds)) " hold, " (count(Verdict::Differs)) " do not and "
            (count(Verdict::NotMeasurable)) " cannot be judged. Each is judged by a rule applied to the tables. \
            They are about runs at size " code { "thesis" } "; the size of this run is " code { (run.size) } "."
        }
    };
    let rows = claims.into_iter().map(|claim| {
        let meaning = match claim.verdict {
            Verdict::Holds => Meaning::Good,
            // A finding about the statement or the program, not a defect.
            Verdict::Differs | Verdict::NotMeasurable => Meaning::Neutral,
        };
        let verdict = claim.verdict.name().replace('-', " ");
        [
            ("Claim", Cell::Text(claim.claim)),
            ("Figure", Cell::Text(claim.figure)),
            ("Statement", Cell::Text(claim.statement)),
            ("Verdict", Cell::Word(verdict, meaning)),
            ("Numbers", Cell::Text(claim.numbers)),
            ("Published numbers", Cell::Text(claim.published)),
        ]
    });
    let caption = "Statements of the thesis, compared with measured and published numbers";
    html! { (introduction) (table(caption, rows)) }
}
