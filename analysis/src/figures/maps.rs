//! Density maps, figure 6.6: the darker a cell, the more is read there.

use super::communication::{Application, described, joined};
use super::multiples::{Mark, Multiples, Plot, Scale};
use crate::metrics::Metrics;
use crate::metrics::density::{DensityRow, SIDE};
use plotters::style::RGBColor;

/// From light to dark, in equal steps of lightness: one hue, so that it reads in grey too.
const SHADES: [RGBColor; 6] = [
    RGBColor(198, 225, 243),
    RGBColor(140, 194, 226),
    RGBColor(78, 158, 205),
    RGBColor(0, 114, 178),
    RGBColor(0, 74, 122),
    RGBColor(0, 32, 62),
];

/// The map of the first CTAs, or of the whole grid.
pub(super) fn map(applications: &[Application<'_>], first: bool) -> Multiples {
    let map = if first { "first" } else { "whole" };
    let cells = |metrics: &'_ Metrics| -> Vec<DensityRow> {
        metrics
            .density
            .iter()
            .filter(|row| row.map == map)
            .cloned()
            .collect()
    };
    let plots = (applications.iter())
        .map(|(name, metrics)| plot(name, &cells(metrics), first))
        .collect();
    let title = if first {
        format!("Who reads from whom: the first {SIDE} CTAs (figure 6.6)")
    } else {
        "Who reads from whom: the whole grid (figure 6.6)".to_owned()
    };
    let say = |metrics: &Metrics| {
        let cells = cells(metrics);
        let side = cells.first().map_or(0, |row| row.side);
        let diagonal = cells
            .iter()
            .filter(|row| row.source == row.receiver)
            .count();
        format!(
            "{} of {} cells filled, {diagonal} of them on the diagonal",
            cells.len(),
            side * side
        )
    };
    let what = "Communicating reads by source CTA (to the right) and receiving CTA (upwards), over all kernels and supersteps.";
    Multiples {
        name: if first {
            "density-first"
        } else {
            "density-whole"
        },
        title,
        description: described(what, applications, say),
        legend: (SHADES.iter().enumerate())
            .map(|(level, &shade)| {
                let text = if level + 1 == SHADES.len() {
                    "few to many reads (log scale, each plot by itself)"
                } else {
                    ""
                };
                (text.to_owned(), shade)
            })
            .collect(),
        is_map: true,
        plots,
        table: joined(applications, |metrics| {
            metrics
                .density
                .iter()
                .filter(|row| row.map == map)
                .collect()
        }),
    }
}

fn plot(name: &str, cells: &[DensityRow], first: bool) -> Plot {
    let side = cells.first().map_or(1, |row| row.side);
    let ctas = if first {
        side
    } else {
        cells.first().map_or(1, |row| row.ctas)
    };
    let max = cells.iter().map(|row| row.count).max().unwrap_or(1);
    let mut marks = Vec::new();
    // Cells of a row with the same shade are one rectangle.
    let like = |a: &DensityRow, b: &DensityRow| {
        a.receiver == b.receiver
            && a.source + 1 == b.source
            && level(a.count, max) == level(b.count, max)
    };
    let scale = ctas as f64 / side as f64;
    for run in cells.chunk_by(like) {
        let (left, bottom) = (run[0].source as f64 * scale, run[0].receiver as f64 * scale);
        let right = left + run.len() as f64 * scale;
        marks.push(Mark::Area(
            (left, bottom),
            (right, bottom + scale),
            SHADES[level(run[0].count, max)],
        ));
    }
    let axis = |label: &str| Scale {
        high: ctas as f64,
        ..Scale::linear(ctas as f64, label, |v| format!("{v}"))
    };
    let inside = |scale: Scale| Scale {
        ticks: scale
            .ticks
            .into_iter()
            .filter(|(value, _)| *value <= ctas as f64)
            .collect(),
        ..scale
    };
    Plot {
        title: name.to_owned(),
        note: if cells.is_empty() {
            String::new()
        } else {
            format!("at most {max} reads a cell")
        },
        x: inside(axis("source CTA")),
        y: inside(axis("receiving CTA")),
        marks,
    }
}

/// Index of a count's shade.
fn level(count: u64, max: u64) -> usize {
    if max <= 1 {
        return SHADES.len() - 1;
    }
    let share = (count.max(1) as f64).ln() / (max as f64).ln();
    (share * (SHADES.len() - 1) as f64).round() as usize
}
