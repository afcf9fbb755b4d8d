//! The share of time of each step of a compilation: Ocelot's figure 9.

use super::{Study, percent};
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use plotters::style::RGBColor;
use superstep_table::{Table, table};

table! {
    /// One step of one compilation.
    pub(super) struct StepRow = "compile-steps" {
        program: String = "the program";
        probe: String = "the probe that is inserted; empty without one";
        step: String = "the step";
        seconds: f64 ["s"] = "time of its commands, one after the other";
        percent: f64 ["%"] = "of all steps of the compilation";
    }
}

/// What one step of one program's compilation took.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTime {
    pub program: String,
    /// Whether the probe was inserted.
    pub is_probed: bool,
    pub step: String,
    pub seconds: f64,
}

const COLOURS: [RGBColor; 9] = [
    palette::BLUE,
    palette::VERMILLION,
    palette::ORANGE,
    palette::SKY_BLUE,
    palette::GREEN,
    palette::PURPLE,
    palette::YELLOW,
    palette::LIGHT_PURPLE,
    palette::GREY,
];

/// Table and figure of the steps, programs and steps in the order of `times`.
#[must_use]
pub fn compile_steps(probe: &str, times: &[StepTime]) -> Study {
    let mut bars: Vec<(&str, bool)> = Vec::new();
    let mut steps: Vec<&str> = Vec::new();
    for time in times {
        let bar = (time.program.as_str(), time.is_probed);
        if !bars.contains(&bar) {
            bars.push(bar);
        }
        if !steps.contains(&time.step.as_str()) {
            steps.push(&time.step);
        }
    }
    let (mut rows, mut marks) = (Vec::new(), Vec::new());
    for (index, (program, is_probed)) in bars.iter().enumerate() {
        let own = times
            .iter()
            .filter(|time| time.program == *program && time.is_probed == *is_probed);
        let all: f64 = own.clone().map(|time| time.seconds).sum();
        // From top to bottom.
        let low = (bars.len() - 1 - index) as f64;
        let mut left = 0.0;
        for time in own {
            rows.push(StepRow {
                program: (*program).to_owned(),
                probe: if *is_probed { probe } else { "" }.to_owned(),
                step: time.step.clone(),
                seconds: (1e4 * time.seconds).round() / 1e4,
                percent: percent(time.seconds, all),
            });
            let step = steps.iter().position(|step| *step == time.step);
            let right = left + time.seconds / all.max(f64::MIN_POSITIVE);
            marks.push(Mark::Area(
                (left, low + 0.15),
                (right, low + 0.85),
                COLOURS[step.unwrap_or(0) % COLOURS.len()],
            ));
            left = right;
        }
    }
    let table = Table::of(&rows);
    let names = bars.iter().rev().map(|(program, is_probed)| {
        let kind = if *is_probed { "probed" } else { "native" };
        format!("{program}, {kind}")
    });
    let figure = Multiples {
        name: "compile-steps",
        title: format!("Share of time of each step, without a probe and with {probe}"),
        description: "Each bar is one compilation from source to executable, with nothing taken from a cache (GPU Ocelot, figure 9).",
        legend: (steps.iter().zip(COLOURS.iter().cycle()))
            .map(|(step, colour)| ((*step).to_owned(), *colour))
            .collect(),
        is_map: false,
        plots: vec![Plot {
            title: String::new(),
            note: String::new(),
            x: Scale::shares("of the compilation's time"),
            y: Scale::bands(names, ""),
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
    use super::*;

    #[test]
    fn shares_of_a_compilation_add_up() {
        let time = |is_probed, step: &str, seconds| StepTime {
            program: "p".into(),
            is_probed,
            step: step.into(),
            seconds,
        };
        let times = [
            time(false, "device IR", 1.0),
            time(false, "ptxas", 3.0),
            time(true, "device IR", 1.0),
            time(true, "instrument", 0.5),
            time(true, "ptxas", 8.5),
        ];
        let study = compile_steps("basic-blocks", &times);
        let table = &study.tables[0];
        assert_eq!(table.text(1, "percent").unwrap(), "75.0");
        let columns = ["probe", "step", "seconds", "percent"];
        assert_eq!(
            columns.map(|column| table.text(3, column).unwrap()),
            ["basic-blocks", "instrument", "0.5", "5.0"]
        );
        assert_eq!(study.figures[0].legend.len(), 3);
        crate::figures::svg(&study.figures[0]).unwrap();
    }
}
