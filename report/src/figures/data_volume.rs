//! Figure 6.1 of the thesis: bytes loaded and stored by each application, and the communicated share of the stored bytes.

use super::communication::bars;
use super::multiples::{Layout, MANY, Mark, Multiples, Plot, Scale};
use super::numbers::{bytes, percent};
use super::palette;
use serde::Deserialize;
use superstep_analysis::run_summary::RunSummary;
use superstep_table::{Table, table};

table! {
    /// One application.
    pub struct DataVolumeRow = "data-volume": Deserialize {
        application: String = "name in the manifest";
        loaded_bytes: u64 ["bytes"] = "bytes of all loads and atomics";
        stored_bytes: u64 ["bytes"] = "bytes of all stores and atomics";
        communicated_stored_bytes: u64 ["bytes"] = "stored, and later read by another CTA or kernel";
        communication_share: f64 = "communicated_stored_bytes / stored_bytes";
    }
}

/// Draws every benchmark of a run whose accesses were analysed, in the run's order. Without any, the figure has no plots.
pub fn data_volume(run: &RunSummary) -> Multiples {
    of(&rows(run))
}

pub(super) fn rows(run: &RunSummary) -> Vec<DataVolumeRow> {
    let rows = run.benchmarks.iter().filter_map(|benchmark| {
        let (bytes, communication) = (benchmark.bytes?, benchmark.communication?);
        Some(DataVolumeRow {
            application: benchmark.name.clone(),
            loaded_bytes: bytes.with_atomics()[0],
            stored_bytes: communication.stored_bytes,
            communicated_stored_bytes: communication.communicated_bytes,
            communication_share: communication.share,
        })
    });
    rows.collect()
}

pub(super) fn of(rows: &[DataVolumeRow]) -> Multiples {
    let each = |value: fn(&DataVolumeRow) -> f64| -> Vec<f64> { rows.iter().map(value).collect() };
    let loaded = each(|row| row.loaded_bytes as f64);
    let stored = each(|row| row.stored_bytes as f64);
    let shares = each(|row| row.communication_share);
    let volumes = || loaded.iter().chain(&stored).copied();
    let least = volumes()
        .filter(|&volume| volume > 0.0)
        .fold(f64::INFINITY, f64::min);
    let most = volumes().fold(1.0, f64::max);
    let texts = |values: &[f64], offset: f64, show: fn(f64) -> String| -> Vec<Mark> {
        let shown = (0..).zip(values).filter(|_| rows.len() < MANY);
        let text = |(band, &value)| Mark::Text((f64::from(band) + offset, value), show(value));
        shown.map(text).collect()
    };
    let names = || rows.iter().map(|row| row.application.clone());
    let upper = Plot {
        x: Scale::bands(names(), ""),
        // The bar of the smallest value must be visible.
        y: Scale::powers(10, least.min(most) / 10.0, most, "bytes (log scale)", bytes),
        marks: [
            bars(&[
                (loaded.clone(), palette::BLUE),
                (stored.clone(), palette::ORANGE),
            ]),
            texts(&loaded, 0.3, bytes),
            texts(&stored, 0.7, bytes),
        ]
        .concat(),
        ..Plot::default()
    };
    let lower = Plot {
        x: Scale::bands(names(), ""),
        y: Scale::shares("share"),
        marks: [
            bars(&[(shares.clone(), palette::GREEN)]),
            texts(&shares, 0.5, percent),
        ]
        .concat(),
        ..Plot::default()
    };
    let plots = if rows.is_empty() {
        vec![]
    } else {
        vec![upper, lower]
    };
    Multiples::new(
        "data-volume",
        "Data volume and communication share",
        "Above: bytes that the kernels of each program load and store. Below: the share of the stored bytes that another CTA \
         or kernel reads in a later launch (Rieber 2017, figure 6.1).",
        &[
            ("bytes loaded", palette::BLUE),
            ("bytes stored", palette::ORANGE),
            ("communicated share of the stored bytes", palette::GREEN),
        ],
        plots,
        Table::of(rows),
    )
    .with_layout(Layout::Stacked)
}

#[cfg(test)]
mod tests;
