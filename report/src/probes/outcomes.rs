//! What came of injected errors, as a table and a figure: SASSI's figure 10.

use super::{Part, Study, layout_of, stacked};
use crate::figures::multiples::Multiples;
use crate::figures::palette;
use plotters::style::RGBColor;
use superstep_table::table;

table! {
    /// One outcome in one program.
    pub(super) struct OutcomeRow = "injection" {
        program: String = "the program";
        outcome: &'static str = "what came of the injections";
        count: u64 ["injections"] = "how often";
        share: f64 = "of all injections into the program";
        low: f64 = "lower end of the share's 95 % interval (Wilson)";
        high: f64 = "upper end of it";
    }
}

/// How often one class came of the injections into a program.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeShare {
    pub program: String,
    pub class: &'static str,
    pub count: u64,
    /// Share of all injections into the program, and its confidence interval of 95 %.
    pub share: [f64; 3],
}

const COLOURS: [RGBColor; 6] = [
    palette::SKY_BLUE,
    palette::VERMILLION,
    palette::PURPLE,
    palette::ORANGE,
    palette::YELLOW,
    palette::BLUE,
];

/// Table and figure of campaigns: all classes of one program stand together, in the same order for each, the first program on top.
pub fn outcomes(shares: &[OutcomeShare]) -> Study {
    let programs = shares.chunk_by(|a, b| a.program == b.program);
    let bars: Vec<(String, Vec<Part<'_>>)> = programs
        .map(|own| {
            let parts = own.iter().map(|share| (share.class, share.share[0]));
            (own[0].program.clone(), parts.collect())
        })
        .collect();
    let rows = shares.iter().map(|share| {
        let [part, low, high] = share.share.map(|part| (1e4 * part).round() / 1e4);
        OutcomeRow {
            program: share.program.clone(),
            outcome: share.class,
            count: share.count,
            share: part,
            low,
            high,
        }
    });
    let (legend, plot) = stacked(&bars, &COLOURS, "of the injections");
    let figure = Multiples {
        layout: layout_of(bars.len()),
        ..Multiples::new(
            "injection",
            "Outcomes of one flipped bit",
            "How the injections into each program ended (SASSI, figure 10).",
            &legend,
            vec![plot],
            rows.collect(),
        )
    };
    Study {
        tables: vec![figure.table.clone()],
        figures: vec![figure],
    }
}

#[cfg(test)]
mod tests;
