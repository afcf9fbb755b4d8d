//! What came of injected errors, as a table and a figure: SASSI's figure 10.

use super::Study;
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use plotters::style::RGBColor;
use superstep_table::{Table, table};

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
#[must_use]
pub fn outcomes(shares: &[OutcomeShare]) -> Study {
    let mut programs: Vec<&str> = Vec::new();
    let mut classes: Vec<&str> = Vec::new();
    for share in shares {
        if !programs.contains(&share.program.as_str()) {
            programs.push(&share.program);
        }
        if !classes.contains(&share.class) {
            classes.push(share.class);
        }
    }
    let mut marks = Vec::new();
    for (band, program) in programs.iter().rev().enumerate() {
        let (low, high) = (band as f64 + 0.15, band as f64 + 0.85);
        let mut left = 0.0;
        for share in shares.iter().filter(|share| share.program == *program) {
            let class = classes.iter().position(|class| *class == share.class);
            let colour = COLOURS[class.unwrap_or(0) % COLOURS.len()];
            let right = left + share.share[0];
            marks.push(Mark::Area((left, low), (right, high), colour));
            left = right;
        }
    }
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
    let table: Table = rows.collect();
    let figure = Multiples {
        name: "injection",
        title: "Outcomes of one flipped bit".into(),
        description: "How the injections into each program ended (SASSI, figure 10).",
        legend: (classes.iter().zip(COLOURS))
            .map(|(class, colour)| ((*class).to_owned(), colour))
            .collect(),
        is_map: programs.len() > 12,
        plots: vec![Plot {
            title: String::new(),
            note: String::new(),
            x: Scale::shares("of the injections"),
            y: Scale::bands(programs.iter().rev().map(|name| (*name).to_owned()), ""),
            marks,
        }],
        table: table.clone(),
    };
    Study {
        tables: vec![table],
        figures: vec![figure],
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rows;
    use super::*;
    use serde_json::json;

    #[test]
    fn the_classes_of_a_program_lie_side_by_side_and_the_first_program_on_top() {
        let share = |program: &str, class, count, share| OutcomeShare {
            program: program.into(),
            class,
            count,
            share,
        };
        let study = outcomes(&[
            share("a", "masked", 3, [0.75, 0.300_641_9, 0.954_413_2]),
            share("a", "hang", 1, [0.25, 0.0, 0.5]),
            share("b", "hang", 4, [1.0, 0.51, 1.0]),
        ]);
        assert_eq!(
            rows(&study.tables[0]),
            json!([
                ["a", "masked", 3, 0.75, 0.3006, 0.9544],
                ["a", "hang", 1, 0.25, 0.0, 0.5],
                ["b", "hang", 4, 1.0, 0.51, 1.0],
            ])
        );
        // `hang` is the second class: it has the second colour in both programs.
        assert_eq!(
            study.figures[0].plots[0].marks,
            [
                Mark::Area((0.0, 0.15), (1.0, 0.85), COLOURS[1]),
                Mark::Area((0.0, 1.15), (0.75, 1.85), COLOURS[0]),
                Mark::Area((0.75, 1.15), (1.0, 1.85), COLOURS[1]),
            ]
        );
    }
}
