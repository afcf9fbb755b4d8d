//! Published values on the page: marks in the figures, a table below each, and a table of differences with reasons.

use super::communication::thesis;
use crate::figures::multiples::{Layout, Mark, Multiples};
use crate::figures::palette;
use crate::html::{self, Cell, Meaning, fold, table};
use crate::published::{
    self, Agreement, Comparison, FIGURES, Quantity, SIZE, SUITE, Unit, lines, summary,
};
use maud::{Markup, html};
use superstep_analysis::run_summary::RunSummary;

pub(super) fn introduction(run: &RunSummary, rows: &[Comparison]) -> Markup {
    html! {
        @if run.suite != SUITE {
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
pub(super) fn mark(figure: &mut Multiples, rows: &[Comparison]) {
    let number = number(figure.name);
    let own = rows.iter().filter(|row| number == Some(&row.figure));
    let marked = own.filter_map(|row| mark_one(figure, row, rows)).count();
    if marked > 0 {
        figure.legend.push(("published", palette::VERMILLION));
    }
}

fn number(name: &str) -> Option<&'static str> {
    let mut figures = FIGURES.iter();
    let (number, _) = figures.find(|(_, ours)| *ours == name)?;
    Some(number)
}

/// Adds a line to the measured value's bar, if there is one, at the height of the published value.
fn mark_one(figure: &mut Multiples, row: &Comparison, rows: &[Comparison]) -> Option<()> {
    let mut plots = figure.plots.iter_mut();
    let plot = match row.quantity {
        Quantity::Loaded => plots.next(),
        Quantity::Stored => plots.nth(1),
        Quantity::Communicated => plots.nth(2),
        _ => plots.find(|it| it.title == row.application),
    }?;
    let at = match row.quantity.bins() {
        Some(bins) => bins.iter().position(|&bin| bin == row.at)?,
        None => row.at as usize,
    };
    // The band, and the start and end of the line in a band of width 1.
    let (band, from, to) = match row.quantity {
        Quantity::Loaded | Quantity::Stored | Quantity::Communicated => {
            let mut names = plot.y.ticks.iter().map(|(_, name)| name);
            (names.position(|it| *it == row.application)?, 0.1, 0.9)
        }
        Quantity::OutDegree | Quantity::LoadStride | Quantity::SuperstepLoads => (at, 0.1, 0.5),
        Quantity::InDegree | Quantity::StoreStride | Quantity::SuperstepStores => (at, 0.5, 0.9),
        Quantity::CutXShare => (0, 0.5, 0.9),
        Quantity::CutYShare => (1, 0.5, 0.9),
        Quantity::Distance => (at, 0.15, 0.85),
        Quantity::MeanOutDegree => (at, 0.2, 0.8),
        // Shown as labels above the bars of the shares.
        Quantity::CutX | Quantity::CutY => return None,
    };
    let height = match row.quantity {
        Quantity::Communicated => {
            let mut programs = rows.iter().filter(|it| it.application == row.application);
            let stored = programs.find(|it| it.quantity == Quantity::Stored)?;
            row.published / stored.published
        }
        quantity if quantity.unit() == Unit::Percent => row.published / 100.0,
        _ => row.published,
    };
    if height == 0.0 {
        return None;
    }
    let band = band as f64;
    let (mut line, mut scale) = ([(band + from, height), (band + to, height)], &mut plot.y);
    // The figure of volumes has a row for each program, in which values increase to the right.
    if figure.layout == Layout::Rows {
        line = line.map(|(across, along)| (along, across));
        scale = &mut plot.x;
    }
    scale.high = scale.high.max(height);
    // Draw the line beneath the points and labels.
    let mut marks = plot.marks.iter();
    let place = marks.position(|mark| matches!(mark, Mark::Text(..) | Mark::Point(..)));
    let line = Mark::Line(line.to_vec(), 2.5, palette::VERMILLION);
    plot.marks.insert(place.unwrap_or(plot.marks.len()), line);
    Some(())
}

pub(super) fn beneath(name: &str, rows: &[Comparison]) -> Markup {
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
        let difference = Cell::Word(line.difference, meaning(line.agreement));
        [
            ("Benchmark", Cell::Text(line.application)),
            ("Value", Cell::Text(line.what)),
            ("Published", Cell::Number(line.published)),
            ("Measured", Cell::Number(line.measured)),
            ("Difference", difference),
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

pub(super) fn content(rows: &[Comparison]) -> Markup {
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
    html! {
        p {
            "Agreement of this run with the values that the thesis published (" (thesis()) "). \
             Values of figures 6.7 and 6.9 were read off plots and count as " em { "close" } " if they are within 1 %. \
             All values: " code { "tables/published.csv" } "."
        }
        (table("Values of the thesis, by figure and program", rows))
    }
}

#[cfg(test)]
mod tests;
