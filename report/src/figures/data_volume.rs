//! Figure 6.1 of the thesis: bytes loaded and stored by each application, and the communicated share of stored bytes.

use super::multiples::{Layout, Mark, Multiples, Plot, Scale};
use super::numbers::bytes;
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
        communicated_stored_bytes: u64 ["bytes"] = "bytes stored and later read by another CTA or kernel";
        communication_share: f64 = "communicated_stored_bytes / stored_bytes";
    }
}

/// Returns the volumes of all benchmarks with analysed accesses, in run order.
pub(super) fn volumes(run: &RunSummary) -> Vec<DataVolumeRow> {
    let volumes = run.benchmarks.iter().filter_map(|benchmark| {
        let (bytes, communication) = (benchmark.bytes?, benchmark.communication?);
        Some(DataVolumeRow {
            application: benchmark.name.clone(),
            loaded_bytes: bytes.with_atomics()[0],
            stored_bytes: communication.stored_bytes,
            communicated_stored_bytes: communication.communicated_bytes,
            communication_share: communication.share,
        })
    });
    volumes.collect()
}

pub(super) fn draw(rows: &[DataVolumeRow]) -> Multiples {
    let volumes = (rows.iter())
        .flat_map(|row| [row.loaded_bytes, row.stored_bytes])
        .filter(|&volume| volume > 0);
    let max = volumes.clone().max().unwrap_or(1) as f64;
    let min = volumes.min().unwrap_or(1) as f64;
    // The first program is at the top.
    let rows_up = || rows.iter().rev();
    let plot = |title: &str, x: Scale, colour, value: fn(&DataVolumeRow) -> f64| {
        let mut marks = Vec::new();
        for (low, row) in (0..).map(f64::from).zip(rows_up()) {
            let value = value(row);
            // The length of a bar would be meaningless on a logarithmic scale.
            marks.push(match x.logarithmic {
                true => Mark::Point((value, low + 0.5), colour),
                false => Mark::Area((0.0, low + 0.2), (value, low + 0.8), colour),
            });
            marks.push(Mark::Text((value, low + 0.5), x.text(value)));
        }
        Plot {
            title: title.to_owned(),
            x,
            y: Scale::bands(rows_up().map(|row| row.application.clone()), ""),
            marks,
            ..Plot::default()
        }
    };
    let log = || Scale::powers(min, max, "log scale", bytes);
    let share = "Communicated share of the stored bytes";
    let [blue, orange, green] = [palette::BLUE, palette::ORANGE, palette::GREEN];
    let plots = vec![
        plot("Bytes loaded", log(), blue, |it| it.loaded_bytes as f64),
        plot("Bytes stored", log(), orange, |it| it.stored_bytes as f64),
        plot(share, Scale::shares(""), green, |it| it.communication_share),
    ];
    Multiples::new(
        "data-volume",
        "Data volume and communication share",
        "Bytes that the kernels of each program load and store, and the share of the stored bytes that another CTA \
         or kernel reads in a later launch (Rieber 2017, figure 6.1).",
        &[],
        if rows.is_empty() { vec![] } else { plots },
        Table::of(rows),
    )
    .with_layout(Layout::Rows)
}

#[cfg(test)]
mod tests;
