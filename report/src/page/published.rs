//! Published values on the page: marks in the figures, a table below each, and a table of differences with their reasons.

use super::communication::thesis;
use crate::figures::multiples::{Layout, Mark, Multiples, Plot};
use crate::figures::palette;
use crate::html::{self, Cell, Meaning, fold, table};
use crate::published::{
    self, Agreement, Beside, FIGURES, Quantity, SIZE, Unit, has_programs, lines, summary,
};
use maud::{Markup, html};
use superstep_analysis::bins::{DEGREE_BINS, STRIDE_BINS};
use superstep_analysis::run_summary::RunSummary;

pub(super) fn introduction(run: &RunSummary, rows: &[Beside]) -> Markup {
    html! {
        @if !has_programs(run) {
        } @else if rows.is_empty() {
            p {
                "The thesis published values for the size " code { (SIZE) }
                ". Runs of that size that trace whole programs show them next to the measured values."
            }
        } @else {
            p { "Vermilion lines mark the values that the thesis published. A table below each figure lists published and measured values." }
        }
    }
}

/// Marks the published values in a figure of all programs.
pub(super) fn mark(figure: &mut Multiples, rows: &[Beside]) {
    let Some(number) = number(figure.name) else {
        return;
    };
    let mut marked = false;
    for row in rows.iter().filter(|row| row.figure == number) {
        marked |= mark_one(figure, row, rows);
    }
    if marked {
        figure.legend.push(("published", palette::VERMILLION));
    }
}

fn number(name: &str) -> Option<&'static str> {
    let mut figures = FIGURES.iter();
    let (number, _) = figures.find(|(_, ours)| *ours == name)?;
    Some(number)
}

/// Adds a line at the height of the published value to the measured value's bar.
fn mark_one(figure: &mut Multiples, row: &Beside, rows: &[Beside]) -> bool {
    let bin = |bins: &[u64]| bins.iter().position(|&bin| bin == row.at);
    let named = |plot: &Plot| {
        let names = plot.y.ticks.iter();
        names
            .map(|(_, name)| name)
            .position(|it| *it == row.application)
    };
    let of_program = figure
        .plots
        .iter()
        .position(|it| it.title == row.application);
    // The volumes have a row for each program, with their values to the right.
    let is_row = figure.layout == Layout::Rows;
    // The plot, the band, and the start and end of the line in a band of width 1.
    let at = row.at as usize;
    let (plot, band, from, to) = match row.quantity {
        Quantity::Loaded => (Some(0), figure.plots.first().and_then(named), 0.1, 0.9),
        Quantity::Stored => (Some(1), figure.plots.get(1).and_then(named), 0.1, 0.9),
        Quantity::Communicated => (Some(2), figure.plots.get(2).and_then(named), 0.1, 0.9),
        Quantity::OutDegree => (of_program, bin(&DEGREE_BINS), 0.1, 0.5),
        Quantity::InDegree => (of_program, bin(&DEGREE_BINS), 0.5, 0.9),
        Quantity::LoadStride => (of_program, bin(&STRIDE_BINS), 0.1, 0.5),
        Quantity::StoreStride => (of_program, bin(&STRIDE_BINS), 0.5, 0.9),
        Quantity::CutXShare => (of_program, Some(0), 0.5, 0.9),
        Quantity::CutYShare => (of_program, Some(1), 0.5, 0.9),
        Quantity::SuperstepLoads => (of_program, Some(at), 0.1, 0.5),
        Quantity::SuperstepStores => (of_program, Some(at), 0.5, 0.9),
        Quantity::Distance => (of_program, Some(at), 0.15, 0.85),
        Quantity::MeanOutDegree => (of_program, Some(at), 0.2, 0.8),
        // Shown as labels above the bars of the shares.
        Quantity::CutX | Quantity::CutY => return false,
    };
    let height = match row.quantity {
        Quantity::Communicated => {
            let stored =
                |it: &&Beside| it.quantity == Quantity::Stored && it.application == row.application;
            let stored = rows.iter().find(stored).map(|it| it.published);
            stored.map(|stored| row.published / stored)
        }
        quantity if quantity.unit() == Unit::Percent => Some(row.published / 100.0),
        _ => Some(row.published),
    };
    let plot = plot.and_then(|plot| figure.plots.get_mut(plot));
    let (Some(plot), Some(band), Some(height)) = (plot, band, height) else {
        return false;
    };
    if row.published == 0.0 {
        return false;
    }
    let band = band as f64;
    let (mut line, mut scale) = ([(band + from, height), (band + to, height)], &mut plot.y);
    if is_row {
        line = line.map(|(across, along)| (along, across));
        scale = &mut plot.x;
    }
    scale.high = scale.high.max(height);
    // Draw the line beneath the points and labels.
    let mut marks = plot.marks.iter();
    let place = marks.position(|mark| matches!(mark, Mark::Text(..) | Mark::Point(..)));
    let line = Mark::Line(line.to_vec(), 2.5, palette::VERMILLION);
    plot.marks.insert(place.unwrap_or(plot.marks.len()), line);
    true
}

pub(super) fn beneath(name: &str, rows: &[Beside]) -> Markup {
    let Some(number) = number(name).filter(|_| !rows.is_empty()) else {
        return html! {};
    };
    let Some(source) = published::source(number) else {
        return html! { p { "The thesis published no numbers for figure " (number) "." } };
    };
    let lines = lines(rows, number);
    if lines.is_empty() {
        return html! {};
    }
    let lines = lines.into_iter().map(|line| {
        [
            ("Benchmark", Cell::Text(line.application)),
            ("Value", Cell::Text(line.what)),
            ("Published", Cell::Number(line.published)),
            ("Measured", Cell::Number(line.measured)),
            (
                "Difference",
                Cell::Word(line.difference, meaning(line.agreement)),
            ),
        ]
    });
    let caption = format!("Figure {number}, published values from {source}");
    let summary = format!("Figure {number}: published and measured");
    fold(&summary, false, table(&caption, lines))
}

fn meaning(agreement: Agreement) -> Meaning {
    match agreement {
        Agreement::Equal | Agreement::Close => Meaning::Good,
        Agreement::Explained => Meaning::Neutral,
        Agreement::Differs => Meaning::Bad,
    }
}

pub(super) fn section(rows: &[Beside]) -> Markup {
    if rows.is_empty() {
        return html! {};
    }
    let rows = summary(rows).into_iter().map(|one| {
        let agreement = match (one.differ, one.unexplained) {
            (0, _) => Agreement::Equal,
            (_, 0) => Agreement::Explained,
            _ => Agreement::Differs,
        };
        let differ = Cell::Word(html::grouped(one.differ), meaning(agreement));
        [
            ("Figure", Cell::Text(one.figure)),
            ("Benchmark", Cell::Text(one.application)),
            ("Equal", Cell::count(one.equal)),
            ("Close", Cell::count(one.close)),
            ("Differ", differ),
            ("Reason", Cell::Text(one.reasons)),
        ]
    });
    let content = html! {
        p {
            "Agreement of this run with the values that the thesis published (" (thesis()) "). \
             Values of figures 6.7 and 6.9 were read off plots and count as  " em { "close" } " within 1 %. \
             All values: " code { "tables/published.csv" } "."
        }
        (table("Values of the thesis, by figure and program", rows))
    };
    html::section("published", "Published and measured values", content)
}

#[cfg(test)]
mod tests;
