//! Figures 6.2 to 6.9 of the thesis from the tables of the metrics: for one application, or for several side by side.

use super::maps::{Which, has_part, map};
use super::multiples::{Mark, Multiples, Plot, Scale};
use super::numbers::bytes;
use super::over_time::{connectivity, distances, supersteps, timeline};
use super::palette;
use plotters::style::RGBColor;
use superstep_analysis::bins::{DEGREE_BINS, STRIDE_BINS};
use superstep_analysis::metrics::Metrics;
use superstep_table::{Row, Table};

/// An application's name and its metrics.
pub type Application<'a> = (&'a str, &'a Metrics);

/// Figures 6.2 to 6.9, in order; 6.6 twice, for the first CTAs and for the whole grid, and once more where other CTAs were
/// asked for. Then the timeline, where there is one.
#[must_use]
pub fn all(applications: &[Application<'_>]) -> Vec<Multiples> {
    let mut figures = vec![
        transfer_sizes(applications),
        degrees(applications),
        bisection(applications),
        strides(applications),
        map(applications, Which::First),
        map(applications, Which::Whole),
        supersteps(applications),
        distances(applications),
        connectivity(applications),
    ];
    if has_part(applications) {
        figures.insert(5, map(applications, Which::Part));
    }
    if applications
        .iter()
        .any(|(_, metrics)| !metrics.timeline.is_empty())
    {
        figures.push(timeline(applications));
    }
    figures
}

/// A metric's tables with the application in front.
pub(super) fn joined<R: Row>(
    applications: &[Application<'_>],
    rows: impl Fn(&Metrics) -> Vec<&R>,
) -> Table {
    let (mut names, mut all) = (Vec::new(), Vec::new());
    for (name, metrics) in applications {
        let rows = rows(metrics);
        names.extend(rows.iter().map(|_| (*name).to_owned()));
        all.extend(rows);
    }
    Table::of(all).after("application", "name in the manifest", &names)
}

pub(super) fn plots(
    applications: &[Application<'_>],
    plot: impl Fn(&Metrics) -> Plot,
) -> Vec<Plot> {
    (applications.iter())
        .map(|(name, metrics)| Plot {
            title: (*name).to_owned(),
            ..plot(metrics)
        })
        .collect()
}

/// First number of a bin, short.
fn short(bin: u64) -> String {
    match bin {
        1024 => "1Ki".to_owned(),
        bin if bin >= 1000 && bin % 1000 == 0 => format!("{}k", bin / 1000),
        bin => bin.to_string(),
    }
}

/// Bars side by side, a group for each band: `values[series][band]`.
pub(super) fn bars(values: &[(Vec<f64>, RGBColor)]) -> Vec<Mark> {
    let width = 0.8 / values.len() as f64;
    let mut marks = Vec::new();
    for (series, (heights, colour)) in values.iter().enumerate() {
        for (band, &height) in heights
            .iter()
            .enumerate()
            .filter(|(_, height)| **height > 0.0)
        {
            let left = band as f64 + 0.1 + width * series as f64;
            marks.push(Mark::Area((left, 0.0), (left + width, height), *colour));
        }
    }
    marks
}

fn transfer_sizes(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.transfer_sizes;
        let (low, high) = match (rows.first(), rows.last()) {
            (Some(first), Some(last)) => (first.size_bytes as f64, last.size_bytes as f64),
            _ => (1.0, 1.0),
        };
        // Room on both sides of the steps.
        let x = Scale::powers(
            2,
            low * 0.75,
            high * 1.5,
            "transfer size (bytes, log scale)",
            bytes1024,
        );
        let mut points = vec![(x.low, 0.0)];
        for row in rows {
            let size = row.size_bytes as f64;
            let before = points.last().map_or(0.0, |point| point.1);
            points.extend([(size, before), (size, row.cumulative_share)]);
        }
        points.push((x.high, 1.0));
        let marks = if rows.is_empty() {
            Vec::new()
        } else {
            vec![Mark::Line(points, 2.0, palette::BLUE)]
        };
        let note = if rows.len() == 1 {
            "one size".to_owned()
        } else {
            format!("{} sizes", rows.len())
        };
        Plot {
            note,
            x,
            y: Scale::shares("share of transfers"),
            marks,
            ..Plot::default()
        }
    };
    Multiples {
        name: "transfer-size",
        title: "Transfer sizes (Rieber 2017, figure 6.2)".to_owned(),
        description: "The curve rises at each size that occurs. Its height is the share of transfers between two CTAs \
                      that are at most that large.",
        legend: vec![(
            "share of transfers up to this size".to_owned(),
            palette::BLUE,
        )],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| {
            metrics.transfer_sizes.iter().collect()
        }),
    }
}

/// Sizes at powers of two.
fn bytes1024(value: f64) -> String {
    match value {
        v if v >= 1048576.0 => format!("{} Mi", v / 1048576.0),
        v if v >= 1024.0 => format!("{} Ki", v / 1024.0),
        v => format!("{v}"),
    }
}

fn degrees(applications: &[Application<'_>]) -> Multiples {
    let of = |metrics: &Metrics, direction: &str| -> Vec<f64> {
        (metrics.degrees.iter())
            .filter(|row| row.direction == direction)
            .map(|row| row.share)
            .collect()
    };
    let plot = |metrics: &Metrics| Plot {
        x: Scale::bands(
            DEGREE_BINS.iter().map(|&bin| short(bin)),
            "partners (bins up to the next)",
        ),
        y: Scale::shares("share of entries"),
        marks: bars(&[
            (of(metrics, "out"), palette::BLUE),
            (of(metrics, "in"), palette::ORANGE),
        ]),
        ..Plot::default()
    };
    Multiples {
        name: "degree",
        title: "Communication partners of a CTA (Rieber 2017, figure 6.3)".to_owned(),
        description: "How many CTAs a CTA sends to (out-degree) and receives from (in-degree). \
                      Each bin reaches up to the next number.",
        legend: vec![
            ("out-degree".to_owned(), palette::BLUE),
            ("in-degree".to_owned(), palette::ORANGE),
        ],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| metrics.degrees.iter().collect()),
    }
}

fn bisection(applications: &[Application<'_>]) -> Multiples {
    // A third dimension is drawn where any application has one.
    let has_z = (applications.iter())
        .any(|(_, m)| m.bisection.get(2).is_some_and(|row| row.coordinates > 1));
    let plot = |metrics: &Metrics| {
        let rows = &metrics.bisection[..metrics.bisection.len().min(if has_z { 3 } else { 2 })];
        let exact: Vec<f64> = rows.iter().map(|row| row.share).collect();
        let published: Vec<f64> = rows.iter().map(|row| row.as_published_share).collect();
        let mut marks = bars(&[(exact, palette::GREEN), (published, palette::LIGHT_PURPLE)]);
        for (index, row) in rows.iter().enumerate() {
            for (offset, share, volume) in [
                (0.3, row.share, row.crossing_bytes),
                (0.7, row.as_published_share, row.as_published_bytes),
            ] {
                marks.push(Mark::Text(
                    (index as f64 + offset, share),
                    bytes(volume as f64),
                ));
            }
        }
        Plot {
            x: Scale::bands(
                rows.iter().map(|row| row.dimension.clone()),
                "dimension of the cut",
            ),
            y: Scale::shares("share of transferred bytes"),
            marks,
            ..Plot::default()
        }
    };
    Multiples {
        name: "bisection",
        title: "Volume across a cut through the grid (Rieber 2017, figure 6.4)".to_owned(),
        description: "Share of the transferred bytes that cross the middle of the grid in each dimension, with the bytes above each bar. \
                      The lighter bars count as the thesis does, from the low side to any higher coordinate.",
        legend: vec![
            ("across the middle".to_owned(), palette::GREEN),
            (
                "as in the thesis: from the low side to any higher coordinate".to_owned(),
                palette::LIGHT_PURPLE,
            ),
        ],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| metrics.bisection.iter().collect()),
    }
}

fn strides(applications: &[Application<'_>]) -> Multiples {
    let of = |metrics: &Metrics, access: &str| -> Vec<f64> {
        (metrics.strides.iter())
            .filter(|row| row.access == access)
            .map(|row| row.share)
            .collect()
    };
    let plot = |metrics: &Metrics| Plot {
        x: Scale::bands(
            STRIDE_BINS.iter().map(|&bin| short(bin)),
            "stride (bytes, bins up to the next)",
        ),
        y: Scale::shares("share of strides"),
        marks: bars(&[
            (of(metrics, "load"), palette::BLUE),
            (of(metrics, "store"), palette::ORANGE),
        ]),
        ..Plot::default()
    };
    Multiples {
        name: "stride",
        title: "Strides of communicating loads and stores (Rieber 2017, figure 6.5)".to_owned(),
        description: "Distances between neighbouring addresses that one CTA accesses in order to communicate. \
                      Each bin reaches up to the next number.",
        legend: vec![
            ("loads".to_owned(), palette::BLUE),
            ("stores".to_owned(), palette::ORANGE),
        ],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| metrics.strides.iter().collect()),
    }
}
