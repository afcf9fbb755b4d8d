//! Figures 6.2 to 6.9 of the thesis, from the metrics tables, for one or more applications.

use super::maps::{FIRST, PART, WHOLE, map};
use super::multiples::{Mark, Multiples, Plot, Scale};
use super::numbers::bytes;
use super::over_time::{connectivity, distances, supersteps, timeline};
use super::palette;
use crate::html::{counted, grouped};
use plotters::style::RGBColor;
use superstep_analysis::bins::{DEGREE_BINS, STRIDE_BINS};
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::transfer_size::TransferSizeRow;
use superstep_table::{Row, Table};

pub type Application<'a> = (&'a str, &'a Metrics);

/// Returns figures 6.2 to 6.9, in order. Figure 6.6 has one version for the first CTAs, one for selected CTAs, and one
/// for the whole grid. The timeline, if any, comes last.
pub fn all(applications: &[Application<'_>]) -> Vec<Multiples> {
    let unless_empty = |figure: Multiples| Some(figure).filter(|figure| figure.table.rows() > 0);
    let mut figures = vec![
        transfer_sizes(applications),
        degrees(applications),
        bisection(applications),
    ];
    // Runs without a trace have no strides.
    let mut traced = applications.to_vec();
    traced.retain(|(_, metrics)| !metrics.strides.is_empty());
    figures.extend(unless_empty(strides(&traced)));
    figures.push(map(applications, FIRST));
    figures.extend(unless_empty(map(applications, PART)));
    figures.extend([
        map(applications, WHOLE),
        supersteps(applications),
        distances(applications),
        connectivity(applications),
    ]);
    figures.extend(unless_empty(timeline(applications)));
    figures
}

/// Joins the tables of a metric for all applications, with the application as the first column.
pub(super) fn joined<'a, R: Row + 'a, I: IntoIterator<Item = &'a R>>(
    applications: &[Application<'a>],
    rows: impl Fn(&'a Metrics) -> I,
) -> Table {
    let (mut names, mut all) = (Vec::new(), Vec::new());
    for (name, metrics) in applications {
        all.extend(rows(metrics));
        names.resize(all.len(), (*name).to_owned());
    }
    Table::of(all).after("application", "name in the manifest", &names)
}

pub(super) fn plots<'a>(
    applications: &[Application<'a>],
    plot: impl Fn(&'a Metrics) -> Plot,
) -> Vec<Plot> {
    let named = |(name, metrics): &Application<'a>| Plot {
        title: metrics.cta_blocks.named(name),
        ..plot(metrics)
    };
    applications.iter().map(named).collect()
}

/// Draws grouped bars, one group per band. `values` contains the heights and the colour of each series.
pub(crate) fn bars(values: &[(Vec<f64>, RGBColor)]) -> Vec<Mark> {
    let width = 0.8 / values.len() as f64;
    let mut marks = Vec::new();
    for (series, (heights, colour)) in values.iter().enumerate() {
        let shown = (heights.iter().enumerate()).filter(|(_, height)| **height > 0.0);
        marks.extend(shown.map(|(band, &height)| {
            let left = band as f64 + 0.1 + width * series as f64;
            Mark::Area((left, 0.0), (left + width, height), *colour)
        }));
    }
    marks
}

/// Plots two series with a pair of bars for each bin. A bin extends up to the next one.
fn binned(bins: &[u64], label: &str, [blue, orange]: [Vec<f64>; 2], y_label: &str) -> Plot {
    Plot {
        x: Scale::bands(bins.iter().map(|&bin| grouped(bin)), label),
        y: Scale::shares(y_label),
        marks: bars(&[(blue, palette::BLUE), (orange, palette::ORANGE)]),
        ..Plot::default()
    }
}

/// Maximum number of steps that are marked with points.
const MAX_POINTS: usize = 40;

fn transfer_sizes(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.transfer_sizes;
        let size = |row: Option<&TransferSizeRow>| row.map_or(1.0, |row| row.size_bytes as f64);
        // Leave room on both sides of the steps.
        let (low, high) = (size(rows.first()) * 0.75, size(rows.last()) * 1.5);
        let label = "transfer size (bytes, log scale)";
        let x = Scale::powers(low.max(1.0), high, label, |v| grouped(v as u64));
        let tops = (rows.iter()).map(|row| (row.size_bytes as f64, row.cumulative_share));
        let mut points = vec![(x.low, 0.0)];
        for (size, share) in tops.clone() {
            let below = points[points.len() - 1].1;
            points.extend([(size, below), (size, share)]);
        }
        points.push((x.high, 1.0));
        let mut marks = vec![Mark::Line(points, 2.0, palette::BLUE)];
        marks.truncate(rows.len());
        if rows.len() <= MAX_POINTS {
            marks.extend(tops.map(|top| Mark::Point(top, palette::BLUE)));
        }
        Plot {
            note: counted(rows.len(), "size"),
            x,
            y: Scale::shares("share of transfers"),
            marks,
            ..Plot::default()
        }
    };
    Multiples::new(
        "transfer-size",
        "Transfer sizes (Rieber 2017, figure 6.2)",
        "The curve rises at each size that occurs. Its height is the share of CTA-to-CTA transfers \
         of at most that size.",
        &[],
        plots(applications, plot),
        joined(applications, |metrics| &metrics.transfer_sizes),
    )
}

fn degrees(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let shares = ["out", "in"].map(|direction| {
            let rows = metrics.degrees.iter();
            let rows = rows.filter(|row| row.direction == direction);
            rows.map(|row| row.share).collect()
        });
        let label = "partners (each bin up to the next)";
        binned(&DEGREE_BINS, label, shares, "share of entries")
    };
    Multiples::new(
        "degree",
        "Communication partners of a CTA (Rieber 2017, figure 6.3)",
        "Number of CTAs that a CTA sends to (out-degree) and receives from (in-degree). \
         Each bin extends up to the next number.",
        &[
            ("out-degree", palette::BLUE),
            ("in-degree", palette::ORANGE),
        ],
        plots(applications, plot),
        joined(applications, |metrics| &metrics.degrees),
    )
}

fn bisection(applications: &[Application<'_>]) -> Multiples {
    // Draw a third dimension if any application has one.
    let has_z = (applications.iter())
        .any(|(_, m)| m.bisection.get(2).is_some_and(|row| row.coordinates > 1));
    let plot = |metrics: &Metrics| {
        let rows = &metrics.bisection[..metrics.bisection.len().min(if has_z { 3 } else { 2 })];
        let exact: Vec<f64> = rows.iter().map(|row| row.share).collect();
        let published: Vec<f64> = rows.iter().map(|row| row.as_published_share).collect();
        let mut marks = bars(&[(exact, palette::GREEN), (published, palette::LIGHT_PURPLE)]);
        let text = |at, crossing: u64| Mark::Text(at, bytes(crossing as f64));
        for (band, row) in (0..).map(f64::from).zip(rows) {
            marks.push(text((band + 0.3, row.share), row.crossing_bytes));
            let published = (band + 0.7, row.as_published_share);
            marks.push(text(published, row.as_published_bytes));
        }
        let names = rows.iter().map(|row| row.dimension.clone());
        Plot {
            x: Scale::bands(names, "dimension of the cut"),
            y: Scale::shares("share of transferred bytes"),
            marks,
            ..Plot::default()
        }
    };
    Multiples::new(
        "bisection",
        "Volume across a cut through the grid (Rieber 2017, figure 6.4)",
        "Share of the transferred bytes that cross the middle of the grid in each dimension, with the number of \
         bytes above each bar. The lighter bars count bytes as the thesis does: from the low side to any higher coordinate, and from the high side to the low one.",
        &[
            ("across the middle", palette::GREEN),
            (
                "as in the thesis: also within the low side",
                palette::LIGHT_PURPLE,
            ),
        ],
        plots(applications, plot),
        joined(applications, |metrics| &metrics.bisection),
    )
}

fn strides(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let shares = ["load", "store"].map(|access| {
            let rows = metrics.strides.iter();
            let rows = rows.filter(|row| row.access == access);
            rows.map(|row| row.share).collect()
        });
        let label = "stride (bytes, each bin up to the next)";
        binned(&STRIDE_BINS, label, shares, "share of strides")
    };
    Multiples::new(
        "stride",
        "Strides of communicating loads and stores (Rieber 2017, figure 6.5)",
        "Distances between consecutive addresses that one CTA accesses to communicate. \
         Each bin extends up to the next number.",
        &[("loads", palette::BLUE), ("stores", palette::ORANGE)],
        plots(applications, plot),
        joined(applications, |metrics| &metrics.strides),
    )
}
