//! Density maps, figure 6.6: the darker a cell, the more is read there.

use super::communication::{Application, joined};
use super::multiples::{Mark, Multiples, Plot, Scale};
use plotters::style::RGBColor;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::density::{Axis, DensityRow, SIDE};

/// From light to dark, in equal steps of lightness: one hue, so that it reads in grey too.
const SHADES: [RGBColor; 6] = [
    RGBColor(198, 225, 243),
    RGBColor(140, 194, 226),
    RGBColor(78, 158, 205),
    RGBColor(0, 114, 178),
    RGBColor(0, 74, 122),
    RGBColor(0, 32, 62),
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    First,
    /// Of the CTAs that were asked for.
    Part,
    Whole,
}

impl Which {
    /// The map's name in the table.
    fn map(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Part => "part",
            Self::Whole => "whole",
        }
    }

    fn figure(self) -> &'static str {
        match self {
            Self::First => "density-first",
            Self::Part => "density-part",
            Self::Whole => "density-whole",
        }
    }

    fn title(self) -> String {
        let which = match self {
            Self::First => format!("the first {SIDE} CTAs"),
            Self::Part => "the chosen CTAs".to_owned(),
            Self::Whole => "the whole grid".to_owned(),
        };
        format!("Who reads from whom: {which} (Rieber 2017, figure 6.6)")
    }

    /// The map's cells; an empty one may say what was asked for.
    fn of(self, metrics: &Metrics) -> Vec<&DensityRow> {
        let map = self.map();
        metrics
            .density
            .iter()
            .filter(|row| row.map == map)
            .collect()
    }
}

/// Whether one of the applications has a map of CTAs that were asked for.
pub(super) fn has_part(applications: &[Application<'_>]) -> bool {
    applications
        .iter()
        .any(|(_, metrics)| !Which::Part.of(metrics).is_empty())
}

pub(super) fn map(applications: &[Application<'_>], which: Which) -> Multiples {
    let plots = (applications.iter())
        .map(|(name, metrics)| plot(name, metrics, which))
        .collect();
    Multiples {
        name: which.figure(),
        title: which.title(),
        description: "Reads of each receiving CTA (upwards) from each source CTA (to the right), over all launches. \
                      The darker the cell, the more reads; on the diagonal both have the same number.",
        legend: (SHADES.iter().enumerate())
            .map(|(level, &shade)| {
                let text = if level + 1 == SHADES.len() {
                    "few to many reads (log scale, each plot on its own)"
                } else {
                    ""
                };
                (text.to_owned(), shade)
            })
            .collect(),
        is_map: true,
        plots,
        table: joined(applications, |metrics| which.of(metrics)),
    }
}

/// CTA numbers as people write them.
fn span(axis: &Axis) -> String {
    format!("{} to {}", axis.first, axis.first + axis.ctas - 1)
}

fn plot(name: &str, metrics: &Metrics, which: Which) -> Plot {
    let cells = which.of(metrics);
    let axes = cells
        .first()
        .map_or([Axis { first: 0, ctas: 1 }; 2], |row| row.axes());
    let max = cells.iter().map(|row| row.count).max().unwrap_or(0);
    let mut marks = Vec::new();
    // Cells of a row with the same shade are one rectangle.
    let like = |a: &&DensityRow, b: &&DensityRow| {
        a.receiver == b.receiver
            && a.source + 1 == b.source
            && level(a.count, max) == level(b.count, max)
    };
    let [x, y] = axes.map(|axis| axis.ctas as f64 / axis.cells() as f64);
    let corner = |row: &DensityRow| {
        (
            axes[0].first as f64 + row.source as f64 * x,
            axes[1].first as f64 + row.receiver as f64 * y,
        )
    };
    for run in cells.chunk_by(like).filter(|run| run[0].count > 0) {
        let (left, bottom) = corner(run[0]);
        let right = left + run.len() as f64 * x;
        marks.push(Mark::Area(
            (left, bottom),
            (right, bottom + y),
            SHADES[level(run[0].count, max)],
        ));
    }
    let [source_axis, receiver_axis] = [(axes[0], "source CTA"), (axes[1], "receiving CTA")]
        .map(|(axis, label)| scale(&axis, label));
    Plot {
        title: name.to_owned(),
        note: if max == 0 {
            String::new()
        } else {
            format!("at most {max} reads a cell")
        },
        x: source_axis,
        y: receiver_axis,
        marks,
    }
}

/// CTA numbers from the first to one past the last, with round ticks in between; the label says which where they are not all.
fn scale(axis: &Axis, label: &str) -> Scale {
    let (low, high) = (axis.first as f64, (axis.first + axis.ctas) as f64);
    let label = match axis.first {
        0 => label.to_owned(),
        _ => format!("{label}, {}", span(axis)),
    };
    Scale::within(low, high, &label, |value| format!("{value}"))
}

/// Index of a count's shade.
fn level(count: u64, max: u64) -> usize {
    if max <= 1 {
        return SHADES.len() - 1;
    }
    let share = (count.max(1) as f64).ln() / (max as f64).ln();
    (share * (SHADES.len() - 1) as f64).round() as usize
}
