//! Figures 6.2 to 6.9 of the thesis from the tables of the metrics: for one application, or for several side by side.

use super::maps::{Which, has_part, map};
use super::multiples::{Mark, Multiples, Plot, Scale};
use super::numbers::{bytes, percent};
use super::over_time::{connectivity, distances, supersteps, timeline};
use super::palette;
use plotters::style::RGBColor;
use superstep_analysis::bins::{DEGREE_BINS, STRIDE_BINS};
use superstep_analysis::metrics::{self, Metrics, Row};
use superstep_analysis::tables::{Table, column};

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
    let mut columns = vec![column("application", "", "name in the manifest")];
    columns.extend_from_slice(R::COLUMNS);
    let rows = applications.iter().flat_map(|(name, metrics)| {
        (rows(metrics).into_iter()).map(|row| {
            let mut values = vec![serde_json::Value::from(*name)];
            values.extend(metrics::values(row));
            values
        })
    });
    Table {
        name: R::TABLE,
        columns,
        rows: rows.collect(),
    }
}

/// A sentence for each application.
pub(super) fn described(
    what: &str,
    applications: &[Application<'_>],
    say: impl Fn(&Metrics) -> String,
) -> String {
    let each: Vec<String> = (applications.iter())
        .map(|(name, metrics)| format!("{name}: {}", say(metrics)))
        .collect();
    format!("{what} {}.", each.join("; "))
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
    let say = |metrics: &Metrics| {
        let all: u64 = metrics.transfer_sizes.iter().map(|row| row.transfers).sum();
        match metrics
            .transfer_sizes
            .iter()
            .max_by_key(|row| row.transfers)
        {
            Some(row) => format!(
                "{} sizes, the most frequent {} bytes with {} of {all} transfers",
                metrics.transfer_sizes.len(),
                row.size_bytes,
                percent(metrics::share(row.transfers, all))
            ),
            None => "no transfers".to_owned(),
        }
    };
    Multiples {
        name: "transfer-size",
        title: "Transfer sizes (figure 6.2)".to_owned(),
        description: described(
            "Share of the transfers between two CTAs that are at most as large as a size.",
            applications,
            say,
        ),
        legend: vec![(
            "share of transfers that are at most as large".to_owned(),
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
    let say = |metrics: &Metrics| {
        let most = |direction: &str| {
            let rows = metrics
                .degrees
                .iter()
                .filter(|row| row.direction == direction && row.entries > 0);
            rows.max_by(|a, b| a.share.total_cmp(&b.share))
                .map_or("none".to_owned(), |row| {
                    format!("{} in the bin from {}", percent(row.share), row.bin)
                })
        };
        format!("out {}, in {}", most("out"), most("in"))
    };
    Multiples {
        name: "degree",
        title: "Communication partners of CTAs (figure 6.3)".to_owned(),
        description: described(
            "How many CTAs a CTA sends to and receives from, the fullest bin of each.",
            applications,
            say,
        ),
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
    let say = |metrics: &Metrics| {
        let each: Vec<String> = (metrics.bisection.iter())
            .map(|row| {
                format!(
                    "{} {} ({})",
                    row.dimension,
                    bytes(row.crossing_bytes as f64),
                    percent(row.share)
                )
            })
            .collect();
        each.join(", ")
    };
    Multiples {
        name: "bisection",
        title: "Volume across a cut through the grid (figure 6.4)".to_owned(),
        description: described(
            "Bytes that cross a cut through the middle of the grid in each dimension.",
            applications,
            say,
        ),
        legend: vec![
            ("across the cut".to_owned(), palette::GREEN),
            (
                "as published: from the low side to any higher coordinate".to_owned(),
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
    let say = |metrics: &Metrics| {
        let most = |access: &str| {
            let rows = metrics
                .strides
                .iter()
                .filter(|row| row.access == access && row.distances > 0);
            rows.max_by(|a, b| a.share.total_cmp(&b.share))
                .map_or("none".to_owned(), |row| {
                    format!("{} from {} bytes on", percent(row.share), row.bin_bytes)
                })
        };
        format!("loads {}, stores {}", most("load"), most("store"))
    };
    Multiples {
        name: "stride",
        title: "Strides of communicating loads and stores, by CTA (figure 6.5)".to_owned(),
        description: described(
            "Distances between neighbouring addresses of a CTA's communicating accesses, the fullest bin of each.",
            applications,
            say,
        ),
        legend: vec![
            ("loads".to_owned(), palette::BLUE),
            ("stores".to_owned(), palette::ORANGE),
        ],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| metrics.strides.iter().collect()),
    }
}
