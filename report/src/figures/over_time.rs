//! Figures 6.7 to 6.9 and the timeline: changes over the supersteps.

use super::communication::{Application, bars, joined, plots};
use super::multiples::{Mark, Multiples, Plot, Scale};
use super::numbers::{bytes, duration};
use super::palette;
use std::collections::HashMap;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::connectivity::ConnectivityRow;
use superstep_analysis::metrics::timeline::TimelineRow;

fn thousandths(value: f64) -> String {
    ((value * 1000.0).round() / 1000.0).to_string()
}

/// Minimum number of launches that are drawn as lines instead of bars.
const MIN_LINE_LAUNCHES: usize = 60;

/// Maximum number of points, which is roughly the resolution of a plot.
const MAX_MARKS: usize = 200;

pub(super) fn supersteps(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.supersteps;
        let stored: Vec<f64> = rows.iter().map(|row| row.stored_bytes as f64).collect();
        let received: Vec<f64> = rows.iter().map(|row| row.received_bytes as f64).collect();
        let max = stored.iter().chain(&received).copied().fold(0.0, f64::max);
        let series = [(received, palette::BLUE), (stored, palette::ORANGE)];
        let marks = if rows.len() < MIN_LINE_LAUNCHES {
            bars(&series)
        } else {
            let middles = (0..).map(|k| f64::from(k) + 0.5);
            let line = |(values, colour): (Vec<f64>, _)| {
                Mark::Line(middles.clone().zip(values).collect(), 1.5, colour)
            };
            series.map(line).into()
        };
        Plot {
            x: Scale::numbers(rows.len() as u64, "superstep"),
            y: Scale::bytes(max, "communicated bytes"),
            marks,
            ..Plot::default()
        }
    };
    Multiples::new(
        "superstep-volume",
        "Bytes communicated in each superstep (Rieber 2017, figure 6.7)",
        "Bytes that a superstep receives from earlier ones, and bytes it stores that later ones read.",
        &[
            ("loads, once per byte and pair of CTAs", palette::BLUE),
            ("stores that are read later", palette::ORANGE),
        ],
        plots(applications, plot),
        joined(applications, |metrics| &metrics.supersteps),
    )
}

pub(super) fn distances(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.distances;
        let count = rows.last().map_or(1, |row| u64::from(row.distance) + 1);
        let mut marks = Vec::new();
        for row in rows {
            let (left, height) = (f64::from(row.distance), row.bytes as f64);
            let (from, to) = ((left + 0.15, 0.0), (left + 0.85, height));
            marks.push(Mark::Area(from, to, palette::BLUE));
            if count <= 5 {
                marks.push(Mark::Text((left + 0.5, height), bytes(height)));
            }
        }
        let max = rows.iter().map(|row| row.bytes).max().unwrap_or(0) as f64;
        Plot {
            x: Scale::numbers(count, "launches in between"),
            // Leave room for the text above the highest bar.
            y: Scale::bytes(max * 1.08, "transferred bytes"),
            marks,
            ..Plot::default()
        }
    };
    // A sentence is clearer than a plot with a single bar.
    let (immediate, others): (Vec<_>, Vec<_>) = applications
        .iter()
        .partition(|(_, metrics)| matches!(&metrics.distances[..], [row] if row.distance == 0));
    let figure = Multiples::new(
        "superstep-distance",
        "Launches between writing and reading (Rieber 2017, figure 6.8)",
        "Transferred bytes by the number of launches between the write and the read. \
         At 0, the very next launch reads them.",
        &[],
        plots(&others, plot),
        joined(applications, |metrics| &metrics.distances),
    );
    let names: Vec<&str> = immediate.iter().map(|(name, _)| *name).collect();
    let names = names.join(", ");
    let sentence = match &*names {
        "" => names,
        _ => format!("The very next launch reads all transferred bytes of {names}."),
    };
    Multiples { sentence, ..figure }
}

pub(super) fn connectivity(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.connectivity;
        // The table omits launches from which nothing was received, but they still have a position on the axis.
        let steps = (0u32..).zip(&metrics.supersteps);
        let places: HashMap<_, _> = steps.map(|(at, s)| ((s.stream, s.superstep), at)).collect();
        let place = |row: &ConnectivityRow| {
            let at = places.get(&(row.stream, row.superstep));
            f64::from(*at.unwrap_or(&row.superstep)) + 0.5
        };
        let (mut marks, mut means) = (Vec::new(), Vec::new());
        for rows in rows.chunks(rows.len().div_ceil(MAX_MARKS).max(1)) {
            let mean = |value: &dyn Fn(&ConnectivityRow) -> f64| {
                rows.iter().map(value).sum::<f64>() / rows.len() as f64
            };
            let x = mean(&place);
            means.push((x, mean(&|row| row.mean)));
            let spread = rows.iter().filter(|row| row.deviation > 0.0);
            let lows = spread.clone().map(|row| row.mean - row.deviation);
            let low = lows.fold(f64::INFINITY, f64::min).max(0.0);
            let highs = spread.map(|row| row.mean + row.deviation);
            let high = highs.fold(0.0, f64::max);
            if low < high {
                let spread = vec![(x, low), (x, high)];
                marks.push(Mark::Line(spread, 2.0, palette::SKY_BLUE));
            }
        }
        if rows.len() > 1 {
            marks.push(Mark::Line(means.clone(), 1.5, palette::BLUE));
        }
        let points = means.into_iter();
        marks.extend(points.map(|mean| Mark::Point(mean, palette::BLUE)));
        let highest = rows.iter().map(|row| row.mean + row.deviation);
        let max = highest.fold(0.0, f64::max);
        Plot {
            x: Scale::numbers(metrics.supersteps.len() as u64, "superstep"),
            y: Scale::linear(max, "mean out-degree (CTAs)", thousandths),
            marks,
            ..Plot::default()
        }
    };
    Multiples::new(
        "connectivity",
        "Mean out-degree of each superstep (Rieber 2017, figure 6.9)",
        "Mean number of CTAs that a CTA of the superstep sends to, and one standard deviation on either side. \
         With more than 200 supersteps, neighbouring ones are merged: the plot shows the mean of their means and the widest spread.",
        &[
            ("mean", palette::BLUE),
            ("standard deviation", palette::SKY_BLUE),
        ],
        plots(applications, plot),
        joined(applications, |metrics| &metrics.connectivity),
    )
}

/// Start and end in nanoseconds, then the total time and the number of launches.
type Bar = (f64, f64, u64, u32);

pub(super) fn timeline(applications: &[Application<'_>]) -> Multiples {
    let plot = |metrics: &Metrics| {
        let rows = &metrics.timeline;
        let start = rows.iter().map(|row| row.begin_ns).min().unwrap_or(0);
        let since = |ns: u64| ns.saturating_sub(start) as f64;
        let end = |row: &TimelineRow| since(row.begin_ns + row.elapsed_ns);
        let last = rows.iter().map(end).fold(0.0, f64::max);
        let (unit, name) = match last {
            1e9.. => (1e9, "seconds"),
            1e6.. => (1e6, "milliseconds"),
            _ => (1e3, "microseconds"),
        };
        let mut lanes: Vec<((u32, &str), Vec<Bar>)> = Vec::new();
        for row in rows {
            let lane = (row.stream, row.kernel.as_str());
            let found = lanes.iter().position(|(other, _)| *other == lane);
            let at = found.unwrap_or(lanes.len());
            if found.is_none() {
                lanes.push((lane, Vec::new()));
            }
            let left = since(row.begin_ns);
            // Keep adjacent launches separate and short ones visible.
            let right = (left + (end(row) - left) * 0.97).max(left + last / 500.0);
            match lanes[at].1.last_mut() {
                // Merge overlapping bars: a program can have tens of thousands of launches.
                Some(bar) if bar.0 <= left && left <= bar.1 => {
                    *bar = (bar.0, bar.1.max(right), bar.2 + row.elapsed_ns, bar.3 + 1);
                }
                _ => lanes[at].1.push((left, right, row.elapsed_ns, 1)),
            }
        }
        let mut marks = Vec::new();
        for (low, ((_, kernel), bars)) in (0..).map(f64::from).zip(&lanes) {
            marks.extend(bars.iter().map(|&(left, right, elapsed, launches)| {
                let [start, length] = [left, elapsed as f64].map(duration);
                let launches = match launches {
                    1 => String::new(),
                    launches => format!("{launches} launches, "),
                };
                let text = format!("{kernel}: {launches}{length}, starting at {start}");
                let (from, to) = ((left / unit, low + 0.2), (right / unit, low + 0.8));
                Mark::Cell(from, to, palette::BLUE, text)
            }));
        }
        let has_multiple_streams = lanes.iter().any(|((stream, _), _)| *stream != lanes[0].0.0);
        let names = lanes
            .iter()
            .map(|((stream, kernel), _)| match has_multiple_streams {
                true => format!("{stream}: {kernel}"),
                false => (*kernel).to_owned(),
            });
        let label = format!("{name} since the first launch (traced)");
        Plot {
            x: Scale::linear(last / unit, &label, thousandths),
            y: Scale::bands(names, ""),
            marks,
            ..Plot::default()
        }
    };
    Multiples::new(
        "timeline",
        "When the launches ran",
        "One bar per launch, in the row of its kernel, or of its kernel and stream if there are several streams. \
         Times are from the traced run.",
        &[],
        plots(applications, plot),
        joined(applications, |metrics| &metrics.timeline),
    )
}

#[cfg(test)]
mod tests;
