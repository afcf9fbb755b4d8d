//! Figures 6.7 to 6.9, and when the launches ran: what changes from superstep to superstep.

use super::communication::{Application, bars, joined, plots};
use super::multiples::{Mark, Multiples, Plot, Scale};
use super::numbers::bytes;
use super::palette;
use superstep_analysis::metrics::{self, Metrics};

/// From this number of launches on, lines instead of bars.
const MANY: usize = 60;

pub(super) fn supersteps(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.supersteps;
        let stored: Vec<f64> = rows.iter().map(|row| row.stored_bytes as f64).collect();
        let received: Vec<f64> = rows.iter().map(|row| row.received_bytes as f64).collect();
        let max = stored.iter().chain(&received).copied().fold(0.0, f64::max);
        let marks = if rows.len() < MANY {
            bars(&[(received, palette::BLUE), (stored, palette::ORANGE)])
        } else {
            let line = |values: Vec<f64>, colour| {
                let points = values
                    .into_iter()
                    .enumerate()
                    .map(|(k, v)| (k as f64 + 0.5, v));
                Mark::Line(points.collect(), 1.5, colour)
            };
            vec![line(received, palette::BLUE), line(stored, palette::ORANGE)]
        };
        Plot {
            x: Scale::numbers(rows.len() as u64, "superstep"),
            y: Scale::linear(max, "communicating bytes", bytes),
            marks,
            ..Plot::default()
        }
    };
    Multiples {
        name: "superstep-volume",
        title: "Communicating bytes of each superstep (Rieber 2017, figure 6.7)".to_owned(),
        description: "Bytes that a superstep receives from earlier ones, and bytes it stores that later ones read.",
        legend: vec![
            (
                "loads, each byte once for a pair of CTAs".to_owned(),
                palette::BLUE,
            ),
            ("stores that are read later".to_owned(), palette::ORANGE),
        ],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| metrics.supersteps.iter().collect()),
    }
}

pub(super) fn distances(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.distances;
        let count = rows.last().map_or(1, |row| u64::from(row.distance) + 1);
        let mut marks = Vec::new();
        for row in rows {
            let (left, height) = (f64::from(row.distance), row.bytes as f64);
            marks.push(Mark::Area(
                (left + 0.15, 0.0),
                (left + 0.85, height),
                palette::BLUE,
            ));
            if count <= 5 {
                marks.push(Mark::Text((left + 0.5, height), bytes(height)));
            }
        }
        let max = rows.iter().map(|row| row.bytes).max().unwrap_or(0) as f64;
        Plot {
            x: Scale::numbers(count, "launches in between"),
            // Room for the text over the highest bar.
            y: Scale::linear(max * 1.08, "transferred bytes", bytes),
            marks,
            ..Plot::default()
        }
    };
    Multiples {
        name: "superstep-distance",
        title: "Launches between writing and reading (Rieber 2017, figure 6.8)".to_owned(),
        description: "Transferred bytes by the number of launches between the write and the read. \
                      At 0, the very next launch reads them.",
        legend: vec![("transferred bytes".to_owned(), palette::BLUE)],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| metrics.distances.iter().collect()),
    }
}

pub(super) fn connectivity(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.connectivity;
        // Launches in order; those that nobody received from have no place in the table, but keep theirs on the axis.
        let place = |row: &metrics::connectivity::ConnectivityRow| {
            let at = (metrics.supersteps.iter())
                .position(|s| (s.stream, s.superstep) == (row.stream, row.superstep));
            at.unwrap_or(row.superstep as usize) as f64 + 0.5
        };
        let mut marks = Vec::new();
        for row in rows.iter().filter(|row| row.deviation > 0.0) {
            let (x, low, high) = (
                place(row),
                (row.mean - row.deviation).max(0.0),
                row.mean + row.deviation,
            );
            marks.push(Mark::Line(
                vec![(x, low), (x, high)],
                2.0,
                palette::SKY_BLUE,
            ));
        }
        if rows.len() > 1 {
            marks.push(Mark::Line(
                rows.iter().map(|row| (place(row), row.mean)).collect(),
                1.5,
                palette::BLUE,
            ));
        }
        marks.extend(
            rows.iter()
                .map(|row| Mark::Point((place(row), row.mean), palette::BLUE)),
        );
        let max = rows
            .iter()
            .map(|row| row.mean + row.deviation)
            .fold(0.0, f64::max);
        Plot {
            x: Scale::numbers(metrics.supersteps.len() as u64, "superstep"),
            y: Scale::linear(max, "mean out-degree (CTAs)", |v| {
                format!("{}", (v * 1000.0).round() / 1000.0)
            }),
            marks,
            ..Plot::default()
        }
    };
    Multiples {
        name: "connectivity",
        title: "Mean out-degree of each superstep (Rieber 2017, figure 6.9)".to_owned(),
        description: "Mean number of CTAs that a CTA of the superstep sends to, and one standard deviation on either side.",
        legend: vec![
            ("mean".to_owned(), palette::BLUE),
            ("standard deviation".to_owned(), palette::SKY_BLUE),
        ],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| {
            metrics.connectivity.iter().collect()
        }),
    }
}

pub(super) fn timeline(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.timeline;
        let mut lanes: Vec<(u32, &str)> = Vec::new();
        for row in rows {
            let lane = (row.stream, row.kernel.as_str());
            if !lanes.contains(&lane) {
                lanes.push(lane);
            }
        }
        let start = rows.iter().map(|row| row.begin_ns).min().unwrap_or(0);
        let milliseconds = |ns: u64| ns.saturating_sub(start) as f64 / 1e6;
        let end = (rows.iter())
            .map(|row| milliseconds(row.begin_ns + row.elapsed_ns))
            .fold(0.0, f64::max);
        let streams = lanes.iter().any(|(stream, _)| *stream != lanes[0].0);
        let marks = (rows.iter())
            .filter_map(|row| {
                let lane = (row.stream, row.kernel.as_str());
                let lane = lanes.iter().position(|&other| other == lane)? as f64;
                let (left, right) = (
                    milliseconds(row.begin_ns),
                    milliseconds(row.begin_ns + row.elapsed_ns),
                );
                // Two launches side by side stay two, and a short one stays visible.
                let right = (left + (right - left) * 0.97).max(left + end / 500.0);
                Some(Mark::Area(
                    (left, lane + 0.2),
                    (right, lane + 0.8),
                    palette::BLUE,
                ))
            })
            .collect();
        let names = lanes.iter().map(|(stream, kernel)| {
            let name: String = kernel.chars().take(11).collect();
            if streams {
                format!("{stream}: {name}")
            } else {
                name
            }
        });
        Plot {
            x: Scale::linear(end, "milliseconds since the first launch, traced", |v| {
                format!("{}", (v * 1000.0).round() / 1000.0)
            }),
            y: Scale::bands(names, ""),
            marks,
            ..Plot::default()
        }
    };
    Multiples {
        name: "timeline",
        title: "When the launches ran".to_owned(),
        description: "One bar per launch, in the row of its kernel and, if there are several, its stream. \
                      Times are those of the traced program.",
        legend: vec![("launch".to_owned(), palette::BLUE)],
        is_map: false,
        plots: plots(applications, plot),
        table: joined(applications, |metrics| metrics.timeline.iter().collect()),
    }
}
