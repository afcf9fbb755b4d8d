//! Density maps, figure 6.6: darker cells have more reads.

use super::communication::{Application, joined, plots};
use super::multiples::{Layout, Mark, Multiples, Plot, Scale};
use crate::html::grouped;
use plotters::style::RGBColor;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::density::{Axis, DensityRow, SIDE};

/// Shades of one hue from light to dark, in equal steps of lightness, so that they also work in greyscale.
const SHADES: [RGBColor; 6] = [
    RGBColor(178, 214, 238),
    RGBColor(140, 194, 226),
    RGBColor(78, 158, 205),
    RGBColor(0, 114, 178),
    RGBColor(0, 74, 122),
    RGBColor(0, 32, 62),
];

/// Names of maps in the table, which are also suffixes of figure names.
pub(crate) const FIRST: &str = "first";
pub(super) const PART: &str = "part";
pub(crate) const WHOLE: &str = "whole";

/// Returns the map's cells. [`PART`] has none unless CTAs were selected.
pub(crate) fn cells<'a>(metrics: &'a Metrics, map: &str) -> Vec<&'a DensityRow> {
    let cells = metrics.density.iter();
    cells.filter(|row| row.map == map).collect()
}

pub(super) fn map(applications: &[Application<'_>], map: &'static str) -> Multiples {
    let (name, scope) = match map {
        FIRST => ("density-first", format!("the first {SIDE} CTAs")),
        PART => ("density-part", "the selected CTAs".to_owned()),
        _ => ("density-whole", "the whole grid".to_owned()),
    };
    Multiples::new(
        name,
        format!("Reads between CTAs: {scope} (Rieber 2017, figure 6.6)"),
        "Reads by each receiving CTA (upwards) from each source CTA (to the right), over all launches. \
         The shade shows the number of reads. The scales show the CTA numbers that occur.",
        &[],
        plots(applications, |metrics| plot(&cells(metrics, map))),
        joined(applications, |metrics| cells(metrics, map)),
    )
    .with_layout(Layout::Maps)
}

fn plot(cells: &[&DensityRow]) -> Plot {
    let axes = cells
        .first()
        .map_or([Axis { first: 0, ctas: 1 }; 2], |row| row.axes());
    let max = cells.iter().map(|row| row.count).max().unwrap_or(0);
    // Adjacent cells of a row with the same shade are drawn as one rectangle.
    let same_shade = |a: &&DensityRow, b: &&DensityRow| {
        a.receiver == b.receiver
            && a.source + 1 == b.source
            && level(a.count, max) == level(b.count, max)
    };
    let [x, y] = axes.map(|axis| axis.ctas as f64 / axis.cells() as f64);
    let runs = cells.chunk_by(same_shade).filter(|run| run[0].count > 0);
    let marks = runs.map(|run| {
        let left = axes[0].first as f64 + run[0].source as f64 * x;
        let bottom = axes[1].first as f64 + run[0].receiver as f64 * y;
        let (right, top) = (left + run.len() as f64 * x, bottom + y);
        let shade = SHADES[level(run[0].count, max)];
        let counts = count_range(run.iter().map(|row| row.count));
        let (reader, writer) = (cta_range(bottom, top), cta_range(left, right));
        let text = format!("reads by {reader} from {writer}: {counts}");
        Mark::Cell((left, bottom), (right, top), shade, text)
    });
    let counts_in = |shade: usize| {
        let counts = cells.iter().map(|row| row.count).filter(|&count| count > 0);
        counts.filter(move |&count| level(count, max) == shade)
    };
    let shades = (0..SHADES.len()).filter(|&shade| counts_in(shade).next().is_some());
    let shades = shades.map(|shade| (count_range(counts_in(shade)), SHADES[shade]));
    Plot {
        note: "reads by shade".to_owned(),
        x: scale(&axes[0], "source CTA"),
        y: scale(&axes[1], "receiving CTA"),
        marks: marks.collect(),
        cells: (axes[0].cells(), axes[1].cells()),
        shades: shades.collect(),
        ..Plot::default()
    }
}

fn count_range(counts: impl Iterator<Item = u64> + Clone) -> String {
    match (counts.clone().min(), counts.max()) {
        (Some(min), Some(max)) if min < max => {
            format!("{}–{}", grouped(min), grouped(max))
        }
        (_, max) => grouped(max.unwrap_or(0)),
    }
}

/// Names the CTAs from `low` up to, but excluding, `high`.
fn cta_range(low: f64, high: f64) -> String {
    match (low.ceil() as u64, (high.ceil() as u64).saturating_sub(1)) {
        (low, high) if low >= high => format!("CTA {}", grouped(low)),
        (low, high) => format!("CTAs {}–{}", grouped(low), grouped(high)),
    }
}

/// Returns a scale of CTA numbers with round ticks. The label states the range if it does not start at 0.
fn scale(axis: &Axis, label: &str) -> Scale {
    let end = axis.first + axis.ctas;
    let label = match axis.first {
        0 => label.to_owned(),
        first => format!("{label}, {} to {}", grouped(first), grouped(end - 1)),
    };
    let low = axis.first as f64;
    let mut scale = Scale::within(low, end as f64, &label, |cta| grouped(cta as u64));
    scale.ticks.retain(|(cta, _)| cta.fract() == 0.0);
    scale
}

/// Returns the index of the shade for `count`.
pub(crate) fn level(count: u64, max: u64) -> usize {
    if max <= 1 {
        return 3;
    }
    let share = (count.max(1) as f64).ln() / (max as f64).ln();
    (share * (SHADES.len() - 1) as f64).round() as usize
}
