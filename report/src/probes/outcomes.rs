//! Outcomes of injected errors: SASSI's figure 10.

use super::Study;
use crate::figures::multiples::{Layout, Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use plotters::style::RGBColor;
use superstep_table::{Table, table};

table! {
    /// One outcome in one program.
    pub struct OutcomeShare = "injection" {
        program: String = "the program";
        outcome: &'static str = "outcome of the injections";
        effect: &'static str = "masked, DUE or SDC";
        count: u64 ["injections"] = "injections with this outcome";
        share: f64 = "share of all injections into the program";
        low: f64 = "lower bound of the share's 95 % confidence interval (Wilson)";
        high: f64 = "upper bound of the interval";
    }
}

pub(super) const COLOURS: [RGBColor; 6] = [
    palette::SKY_BLUE,
    palette::VERMILLION,
    palette::PURPLE,
    palette::ORANGE,
    palette::YELLOW,
    palette::BLUE,
];

/// Returns the table and figure of injection campaigns. `shares` lists the outcomes program by program, always in the
/// same order.
pub fn outcomes(shares: &[OutcomeShare]) -> Study {
    let programs: Vec<_> = shares.chunk_by(|a, b| a.program == b.program).collect();
    let mut legend: Vec<(&str, RGBColor)> = Vec::new();
    for share in shares {
        if !legend.iter().any(|(outcome, _)| *outcome == share.outcome) {
            legend.push((share.outcome, COLOURS[legend.len() % COLOURS.len()]));
        }
    }
    let mut marks = Vec::new();
    for (low, parts) in (0..).map(f64::from).zip(programs.iter().rev()) {
        let mut left = 0.0;
        for part in *parts {
            let right = left + part.share;
            let colour = legend.iter().find(|(outcome, _)| *outcome == part.outcome);
            let (from, to) = ((left, low + 0.15), (right, low + 0.85));
            marks.extend(colour.map(|(_, colour)| Mark::Area(from, to, *colour)));
            left = right;
        }
    }
    let names = programs.iter().rev().map(|bar| bar[0].program.clone());
    let plot = Plot {
        x: Scale::shares("share of injections"),
        y: Scale::bands(names, ""),
        marks,
        ..Plot::default()
    };
    let figure = Multiples::new(
        "injection",
        "Outcomes by program",
        "Outcomes of the injections into each program (SASSI, figure 10).",
        &legend,
        vec![plot],
        Table::of(shares),
    )
    .with_layout(Layout::Rows);
    Study::of_paper(Vec::new(), vec![figure])
}
