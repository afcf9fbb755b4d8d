//! Two runs' communication side by side.

use super::measured;
use crate::error::Result;
use crate::figures::numbers::{bytes, percent};
use crate::html::DASH;
use std::collections::BTreeMap;
use std::path::Path;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::arrays::ArrayRow;
use superstep_analysis::metrics::bounds;
use superstep_analysis::metrics::scaling::ScalingRow;
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, in_words};
use superstep_trace::display_name;

/// One run with its tables.
#[derive(Clone, Debug)]
pub struct Side {
    pub run: RunSummary,
    pub measured: super::Measured,
}

impl Side {
    pub fn read(folder: &Path, run: RunSummary) -> Result<Self> {
        let measured = measured(folder, &run)?;
        Ok(Self { run, measured })
    }

    fn benchmark(&self, name: &str) -> Option<(&BenchmarkSummary, &Metrics)> {
        let benchmark = self.run.benchmarks.iter().find(|b| b.name == name)?;
        let (_, metrics) = self.measured.iter().find(|(known, _)| known == name)?;
        Some((benchmark, metrics))
    }
}

/// One quantity of a benchmark in both runs, as text for people.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Quantity {
    pub quantity: &'static str,
    pub first: String,
    pub second: String,
}

/// The communication of a benchmark that both runs have analysed; else nothing.
pub fn quantities(name: &str, first: &Side, second: &Side) -> Vec<Quantity> {
    let (Some(a), Some(b)) = (first.benchmark(name), second.benchmark(name)) else {
        return Vec::new();
    };
    (of(a.0, a.1).into_iter().zip(of(b.0, b.1)))
        .map(|((quantity, first), (_, second))| Quantity {
            quantity,
            first,
            second,
        })
        .collect()
}

fn of(benchmark: &BenchmarkSummary, metrics: &Metrics) -> Vec<(&'static str, String)> {
    let volume = benchmark.communication.unwrap_or_default();
    let size = |value: u64| bytes(value as f64);
    let received = bounds::received_bytes(metrics);
    let transfers: u64 = metrics.transfer_sizes.iter().map(|row| row.transfers).sum();
    let median = (metrics.transfer_sizes.iter()).find(|row| row.cumulative_share >= 0.5);
    let entries: u64 = metrics.connectivity.iter().map(|row| row.entries).sum();
    let degrees = metrics.connectivity.iter();
    let degrees: f64 = degrees.map(|row| row.mean * row.entries as f64).sum();
    let mut by_pattern: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &metrics.patterns {
        *by_pattern.entry(&row.pattern).or_default() += row.bytes;
    }
    let pattern = by_pattern.iter().max_by_key(|(_, bytes)| **bytes);
    let crossing = |dimension: &str| {
        let row = (metrics.bisection.iter()).find(|row| row.dimension == dimension);
        row.map_or(DASH.to_owned(), |row| percent(row.share))
    };
    let next = metrics.distances.iter().find(|row| row.distance == 0);
    let best = (metrics.scaling.iter()).find(|row| row.gpus == 4 && row.best);
    let array = metrics.arrays.first().filter(|row| row.received_bytes > 0);
    let touched = metrics.footprints.iter().map(|row| row.touched_bytes).max();
    let or_dash = |text: Option<String>| text.unwrap_or(DASH.to_owned());
    let out_degree = (entries > 0).then(|| format!("{:.2}", degrees / entries as f64));
    let of_array =
        |row: &ArrayRow| format!("{} ({})", display_name(&row.array), percent(row.share));
    let of_cut = |row: &ScalingRow| format!("{}, {} cross", row.cut, percent(row.share));
    vec![
        ("bytes stored", size(volume.stored_bytes)),
        ("bytes communicated", volume.communicated_in_words(size)),
        ("communication share", volume.share_in_words(percent)),
        ("bytes received", in_words(received, size)),
        ("transfers", metrics.cta_blocks.named(transfers)),
        (
            "median transfer",
            or_dash(median.map(|row| size(row.size_bytes))),
        ),
        ("mean out-degree", or_dash(out_degree)),
        ("across the middle in x", crossing("x")),
        ("across the middle in y", crossing("y")),
        ("across the middle in z", crossing("z")),
        (
            "read by the next launch",
            or_dash(next.map(|row| percent(row.share))),
        ),
        (
            "most bytes in pattern",
            or_dash(pattern.map(|(name, _)| (*name).to_owned())),
        ),
        ("array with most", or_dash(array.map(of_array))),
        ("best cut for 4 GPUs", or_dash(best.map(of_cut))),
        ("largest footprint", or_dash(touched.map(size))),
    ]
}
