//! The share of time of each step of a compilation: Ocelot's figure 9.

use super::{Study, percent, stacked};
use crate::figures::multiples::Multiples;
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
pub fn compile_steps(probe: &str, times: &[StepTime]) -> Study {
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for own in times.chunk_by(|a, b| (&a.program, a.is_probed) == (&b.program, b.is_probed)) {
        let StepTime {
            program, is_probed, ..
        } = &own[0];
        let all: f64 = own.iter().map(|time| time.seconds).sum();
        rows.extend(own.iter().map(|time| StepRow {
            program: program.clone(),
            probe: if *is_probed { probe } else { "" }.to_owned(),
            step: time.step.clone(),
            seconds: (1e4 * time.seconds).round() / 1e4,
            percent: percent(time.seconds, all),
        }));
        let share = |time: &StepTime| time.seconds / all.max(f64::MIN_POSITIVE);
        let parts = own.iter().map(|time| (time.step.as_str(), share(time)));
        let kind = if *is_probed { "probed" } else { "native" };
        bars.push((format!("{program}, {kind}"), parts.collect()));
    }
    let (legend, plot) = stacked(&bars, &COLOURS, "of the compilation's time");
    let figure = Multiples::new(
        "compile-steps",
        format!("Share of time of each step, without a probe and with {probe}"),
        "Each bar is one compilation from source to executable, with nothing taken from a cache (GPU Ocelot, figure 9).",
        &legend,
        vec![plot],
        Table::of(&rows),
    );
    Study {
        tables: vec![figure.table.clone()],
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
        crate::figures::svg(&study.figures[0], "steps").unwrap();
    }
}
