//! Cost of a probe: SASSI's table 3 and Ocelot's figure 5.

use super::Study;
use crate::figures::multiples::{Layout, Mark, Multiples, Plot, Scale};
use crate::figures::palette;
use crate::papers::{Numbers, RODINIA, rodinia};
use serde::{Deserialize, Serialize};
use superstep_table::{Table, table};
use superstep_trace::Failure;

superstep_table::table_from! {
    /// Cost of the probe in each program.
    fn table<'a>(cost, &'a ProbedBenchmark) = "overheads" {
        program: String = "the program" => cost.name.clone();
        launches: u64 = "kernel launches" => cost.launches;
        native_s: f64 ["s"] = "wall time of the program without the probe" => cost.native_s;
        probed_s: f64 ["s"] = "wall time of the program with the probe" => cost.probed_s;
        native_kernel_ms: f64 ["ms"] = "time of all kernels without the probe" => cost.native_kernel_ms;
        probed_kernel_ms: f64 ["ms"] = "time of all kernels with the probe" => cost.probed_kernel_ms;
        total_ratio: Option<f64> = "wall time with the probe divided by wall time without it" => cost.ratios()[0];
        kernel_ratio: Option<f64> = "kernel time with the probe divided by kernel time without it" =>
            cost.ratios()[1];
    }
}

table! {
    /// A value for one program, and the corresponding value from the paper.
    struct PublishedRow = "published" {
        program: String = "the program";
        quantity: String = "column of the first table, or of `overheads`";
        measured: Option<f64> = "value in this run";
        published: f64 = "value in SASSI's table 1 (branches), 2 (values) or 3 (overheads)";
    }
}

/// Times of a program with and without a probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbedBenchmark {
    pub name: String,
    pub failure: Option<Failure>,
    pub launches: u64,
    /// Launches with probe results; `None` if unknown.
    #[serde(default)]
    pub probed_launches: Option<u64>,
    /// Wall time of the program in seconds, without the probe.
    pub native_s: f64,
    pub probed_s: f64,
    /// Time of all kernels in milliseconds, without the probe.
    pub native_kernel_ms: f64,
    pub probed_kernel_ms: f64,
}

impl ProbedBenchmark {
    /// Returns the time with the probe divided by the time without it, unless the latter is 0: for the whole program,
    /// and for its kernels.
    fn ratios(&self) -> [Option<f64>; 2] {
        let times = [
            (self.native_s, self.probed_s),
            (self.native_kernel_ms, self.probed_kernel_ms),
        ];
        times.map(|(before, after)| (before > 0.0).then(|| (1e3 * after / before).round() / 1e3))
    }
}

/// Adds the cost of `probe` in programs of `suite` to the probe's study, next to SASSI's cost if the paper reports it.
pub fn add_overheads(study: &mut Study, suite: &str, probe: &str, costs: &[&ProbedBenchmark]) {
    let sassi = (suite == RODINIA).then(|| rodinia().sassi.remove(probe));
    let sassi = sassi.flatten().unwrap_or_default();
    let kernel_ratio = |cost: &ProbedBenchmark| sassi.get(&cost.name)?.get("kernel_ratio");
    let baseline = vec![(1.0, 0.0), (1.0, costs.len() as f64)];
    let mut marks = vec![Mark::Line(baseline, 1.0, palette::GREY)];
    let mut max = 2.0f64;
    // The first program is at the top.
    for (low, cost) in (0..).map(f64::from).zip(costs.iter().rev()) {
        let [total, kernels] = cost.ratios();
        let kernels = (kernels, low + 0.5, palette::BLUE);
        for (ratio, low, colour) in [kernels, (total, low + 0.15, palette::SKY_BLUE)] {
            if let Some(ratio) = ratio {
                max = max.max(ratio);
                marks.push(Mark::Area((1.0, low), (ratio, low + 0.35), colour));
            }
        }
        if let Some(&kernels) = kernel_ratio(cost) {
            max = max.max(kernels);
            marks.push(Mark::Point((kernels, low + 0.67), palette::VERMILLION));
        }
    }
    let mut legend = vec![
        ("kernels", palette::BLUE),
        ("whole program", palette::SKY_BLUE),
    ];
    if costs.iter().any(|cost| kernel_ratio(cost).is_some()) {
        legend.push(("SASSI's kernels (table 3)", palette::VERMILLION));
    }
    let label = "time with the probe divided by time without it";
    let times = |ratio: f64| format!("{}x", (1e2 * ratio).round() / 1e2);
    let plot = Plot {
        x: Scale::powers(0.5, max, label, times),
        y: Scale::bands(costs.iter().rev().map(|cost| cost.name.clone()), ""),
        marks,
        ..Plot::default()
    };
    let description = if study.reproduces_paper {
        "Time with the probe relative to the time without it (SASSI, table 3; GPU Ocelot, figure 5)."
    } else {
        "Time with the probe relative to the time without it."
    };
    let figure = Multiples::new(
        "overheads",
        format!("Cost of the probe {probe}"),
        description,
        &legend,
        vec![plot],
        table(costs.iter().copied()),
    )
    .with_layout(Layout::Rows);
    let compared = [study.tables.first(), Some(&figure.table)];
    let published = compared.into_iter().flatten();
    let published = Table::from_iter(published.flat_map(|table| beside(table, &sassi)));
    study.tables.push(figure.table.clone());
    if published.rows() > 0 {
        study.tables.push(published);
    }
    study.figures.push(figure);
}

/// Returns the values of `table` that were also published.
fn beside(table: &Table, published: &Numbers) -> Vec<PublishedRow> {
    let mut rows = Vec::new();
    for row in 0..table.rows() {
        let program = table.text(row, "program").unwrap_or_default();
        let published = published.get(&program);
        for (column, text) in table.columns().zip(table.texts(row)) {
            let published = published.and_then(|numbers| numbers.get(column.name));
            rows.extend(published.map(|&published| PublishedRow {
                program: program.clone(),
                quantity: column.name.to_owned(),
                measured: text.and_then(|text| text.parse().ok()),
                published,
            }));
        }
    }
    rows
}
