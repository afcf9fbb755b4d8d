//! Cost of a probe: SASSI's table 3, and Ocelot's figure 5.

use super::{layout_of, published};
use crate::figures::multiples::{Mark, Multiples, Plot, Scale};
use crate::figures::palette;

table_from! {
    /// What the probe costs each program.
    fn table(row, Overhead<'_>) = "overheads" {
        program: String = "the program" => row.cost.program.clone();
        launches: u64 = "kernel launches" => row.cost.launches;
        native_s: f64 ["s"] = "wall time of the program without the probe" => row.cost.total_s[0];
        probed_s: f64 ["s"] = "the same with it" => row.cost.total_s[1];
        native_kernel_ms: f64 ["ms"] = "time of all kernels without the probe" => row.cost.kernels_ms[0];
        probed_kernel_ms: f64 ["ms"] = "the same with it" => row.cost.kernels_ms[1];
        total_ratio: Option<f64> = "wall time with the probe over that without" => row.total;
        kernel_ratio: Option<f64> = "kernels' time with the probe over that without" => row.kernels;
        sassi_total_ratio: Option<f64> = "SASSI, table 3: wall time; empty where it has none" =>
            row.sassi.map(|[total, _]| total);
        sassi_kernel_ratio: Option<f64> = "SASSI, table 3: kernels' time; empty where it has none" =>
            row.sassi.map(|[_, kernels]| kernels);
    }
}

/// Ratios of a program, and those of SASSI's paper.
struct Overhead<'a> {
    cost: &'a Cost,
    total: Option<f64>,
    kernels: Option<f64>,
    sassi: Option<[f64; 2]>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    pub program: String,
    pub launches: u64,
    /// Wall time in seconds, without the probe and with it.
    pub total_s: [f64; 2],
    /// Time of all kernels in milliseconds, without the probe and with it.
    pub kernels_ms: [f64; 2],
}

/// The second over the first; `None` of no time at all.
fn ratio([before, after]: [f64; 2]) -> Option<f64> {
    (before > 0.0).then(|| (1e3 * after / before).round() / 1e3)
}

/// The figure, with its table, of what `probe` cost the programs of `suite`, beside what SASSI's paper has.
pub fn overheads(suite: &str, probe: &str, costs: &[Cost]) -> Multiples {
    let rows = costs.iter().map(|cost| Overhead {
        cost,
        total: ratio(cost.total_s),
        kernels: ratio(cost.kernels_ms),
        sassi: published::cost(suite, probe, &cost.program),
    });
    let rows: Vec<_> = rows.collect();
    let one = vec![(1.0, 0.0), (1.0, costs.len() as f64)];
    let mut marks = vec![Mark::Line(one, 1.0, palette::GREY)];
    let mut most = 2.0f64;
    // The first program on top.
    for (low, row) in (0..).map(f64::from).zip(rows.iter().rev()) {
        let mut bar = |ratio: Option<f64>, from: f64, to: f64, colour| {
            if let Some(ratio) = ratio {
                most = most.max(ratio);
                marks.push(Mark::Area((1.0, low + from), (ratio, low + to), colour));
            }
        };
        bar(row.kernels, 0.5, 0.85, palette::BLUE);
        bar(row.total, 0.15, 0.5, palette::SKY_BLUE);
        if let Some([_, kernels]) = row.sassi {
            most = most.max(kernels);
            marks.push(Mark::Point((kernels, low + 0.67), palette::VERMILLION));
        }
    }
    let powers = (most.log2().ceil() as i32).max(1);
    let every = (powers / 6 + 1) as usize;
    let ticks = (-1..=powers).step_by(every).map(|k| 2f64.powi(k));
    let ticks = ticks.map(|ratio| (ratio, format!("{ratio}x"))).collect();
    let label = "time with the probe over time without";
    let mut legend = vec![
        ("kernels", palette::BLUE),
        ("whole program", palette::SKY_BLUE),
    ];
    if rows.iter().any(|row| row.sassi.is_some()) {
        legend.push(("SASSI's kernels (table 3)", palette::VERMILLION));
    }
    let plot = Plot {
        x: Scale {
            logarithmic: true,
            ..Scale::new(0.5, 2f64.powi(powers), label, ticks)
        },
        y: Scale::bands(costs.iter().rev().map(|cost| cost.program.clone()), ""),
        marks,
        ..Plot::default()
    };
    Multiples {
        layout: layout_of(costs.len()),
        ..Multiples::new(
            "overheads",
            format!("Cost of the probe {probe}"),
            "Time with the probe relative to the time without it, for the kernels and for the whole program \
             (SASSI, table 3; GPU Ocelot, figure 5).",
            &legend,
            vec![plot],
            table(&rows),
        )
    }
}
