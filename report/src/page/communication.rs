//! The page's figures of communication, and the thesis' statements beside what was measured.

use super::{places, published};
use crate::claims::{self, Claim, Program, Verdict};
use crate::error::Result;
use crate::figures::communication::all;
use crate::figures::multiples::{Layout, Multiples};
use crate::figures::{self, escape};
use crate::html::{self, Cell, Meaning, fold, id, table};
use crate::published::{Beside, fits};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::fmt::Write as _;
use std::path::Path;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::RunSummary;

/// The metrics of a run's benchmarks, by name, in the run's order.
pub type Measured = Vec<(String, Metrics)>;

/// Reads the tables of every benchmark of the run in `folder` that has them.
pub fn measured(folder: &Path, run: &RunSummary) -> Result<Measured> {
    let mut measured = Measured::new();
    for benchmark in &run.benchmarks {
        if let Some(mut metrics) = Metrics::read(&folder.join("tables").join(&benchmark.name))? {
            metrics.cta_blocks = benchmark.cta_blocks;
            measured.push((benchmark.name.clone(), metrics));
        }
    }
    Ok(measured)
}

/// The figures of all benchmarks side by side, with what was published of them.
pub(super) fn side_by_side(measured: &[(String, Metrics)], rows: &[Beside]) -> Vec<Multiples> {
    let measured = measured.iter();
    let named: Vec<_> = measured
        .map(|(name, metrics)| (name.as_str(), metrics))
        .collect();
    let mut figures = all(&named);
    for figure in &mut figures {
        published::mark(figure, rows);
    }
    figures
}

pub(super) fn claims(run: &RunSummary, measured: &[(String, Metrics)]) -> Vec<Claim> {
    // The statements are about whole programs, and about CTAs.
    let whole = (run.benchmarks.iter())
        .filter(|benchmark| benchmark.selection.is_none() && benchmark.cta_blocks.are_ctas());
    let programs: Vec<Program<'_>> = whole
        .filter_map(|benchmark| {
            let (bytes, communication) = (benchmark.bytes?, benchmark.communication?);
            let (_, metrics) = measured.iter().find(|(name, _)| *name == benchmark.name)?;
            Some(Program {
                name: &benchmark.name,
                loaded_bytes: bytes.with_atomics()[0],
                stored_bytes: communication.stored_bytes,
                share: communication.share,
                metrics,
            })
        })
        .collect();
    claims::evaluate(&programs, fits(run))
}

pub(super) fn section(
    out: &mut String,
    run: &RunSummary,
    measured: &[(String, Metrics)],
    rows: &[Beside],
) -> Result<()> {
    if measured.is_empty() {
        return Ok(());
    }
    html::section(out, "communication", "Communication");
    out.push_str(
        "<p>A read is communication if another CTA or another kernel wrote the data in an earlier launch. \
         The tables behind the figures are in <code>tables/</code>; <code>figures/</code> holds each figure as SVG, PNG and CSV. \
         Figure numbers refer to the thesis (<a href=\"#references\">Rieber 2017</a>).</p>\n",
    );
    let without = measured.iter().filter(|(_, it)| it.strides.is_empty());
    let without: Vec<String> = without.map(|(name, _)| escape(name)).collect();
    if !without.is_empty() {
        let _ = writeln!(
            out,
            "<p>Strides (figure 6.5) need a trace, which there is not of {}.</p>",
            without.join(", ")
        );
    }
    published::introduction(out, run, rows);
    for figure in side_by_side(measured, rows) {
        embed(out, &figure, figure.name)?;
        published::beneath(out, figure.name, rows);
    }
    out.push_str("</section>\n");
    Ok(())
}

/// The figures of one benchmark, folded away.
pub(super) fn of_benchmark(
    out: &mut String,
    name: &str,
    measured: &[(String, Metrics)],
) -> Result<()> {
    let Some((name, metrics)) = measured.iter().find(|(measured, _)| measured == name) else {
        return Ok(());
    };
    places::bounds(out, name, metrics);
    places::carriers(out, name, metrics);
    let summary = format!("Communication of {name}, figure by figure");
    fold(out, &summary, false);
    for figure in all(&[(name, metrics)]) {
        embed(out, &figure, &id(figure.name, name))?;
    }
    out.push_str("</details>\n");
    places::details(out, name, metrics);
    Ok(())
}

pub(super) fn embed(out: &mut String, figure: &Multiples, id: &str) -> Result<()> {
    let description = escape(figure.description);
    let drawing = if figure.layout == Layout::Maps {
        // Tens of thousands of cells are too much for a page's SVG.
        let picture = BASE64_STANDARD.encode(figures::png(figure)?);
        let (width, height) = figure.size();
        format!(
            "<img id=\"{id}\" width=\"{width}\" height=\"{height}\" alt=\"{}: {description}\" src=\"data:image/png;base64,{picture}\"/>\n",
            escape(&figure.title)
        )
    } else {
        figures::svg(figure, id)?
    };
    html::figure(out, &drawing, figure.description);
    Ok(())
}

pub(super) fn claims_section(out: &mut String, run: &RunSummary, measured: &[(String, Metrics)]) {
    let claims = claims(run, measured);
    if claims.is_empty() {
        return;
    }
    let those = |verdict| claims.iter().filter(move |claim| claim.verdict == verdict);
    let count = |verdict| those(verdict).count();
    let heading = "What the thesis states, and what was measured";
    html::section(out, "claims", heading);
    let _ = writeln!(
        out,
        "<p>Of {} statements that the thesis makes about its figures (<a href=\"#references\">Rieber 2017</a>), \
         {} hold, {} differ and {} cannot be judged. A rule over the tables decides each of them. \
         The statements describe the size <code>thesis</code>; this run has the size <code>{}</code>.</p>",
        claims.len(),
        count(Verdict::Holds),
        count(Verdict::Differs),
        count(Verdict::NotMeasurable),
        escape(&run.size)
    );
    let rows = claims.into_iter().map(|claim| {
        let meaning = match claim.verdict {
            Verdict::Holds => Meaning::Good,
            Verdict::Differs => Meaning::Bad,
            Verdict::NotMeasurable => Meaning::Neutral,
        };
        let verdict = claim.verdict.as_str().to_owned();
        [
            ("Claim", Cell::Text(claim.claim)),
            ("Figure", Cell::Text(claim.figure)),
            ("Statement", Cell::Text(claim.statement)),
            ("Verdict", Cell::Word(verdict, meaning)),
            ("Numbers", Cell::Text(claim.numbers)),
            ("Published numbers", Cell::Text(claim.published)),
        ]
    });
    table(out, "Statements of the thesis", rows);
    out.push_str("</section>\n");
}
