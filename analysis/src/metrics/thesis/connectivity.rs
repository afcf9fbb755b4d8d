//! Figure 6.9: out-degree of CTAs over the supersteps.

use super::degree::OutDegree;
use crate::metrics::Source;
use serde::Deserialize;
use superstep_table::table;

table! {
    /// Out-degrees of one launch.
    pub struct ConnectivityRow = "connectivity": Deserialize {
        stream: u32 = "stream of the source launch";
        superstep: u32 = "index of that launch within its stream, from 0";
        kernel: String = "demangled name of its kernel, without parameters";
        entries: u64 = "(CTA, receiving kernel) pairs with transfers";
        mean: f64 ["CTAs"] = "mean out-degree";
        deviation: f64 ["CTAs"] = "standard deviation of the out-degree";
    }
}

/// Returns each launch from which bytes were received, in the order of the host's calls; `out` must be sorted.
pub(in crate::metrics) fn rows(source: &Source<'_>, out: &[OutDegree]) -> Vec<ConnectivityRow> {
    out.chunk_by(|a, b| a.source_launch == b.source_launch)
        .filter_map(|entries| {
            let launch = (source.communication.launches).get(entries[0].source_launch as usize)?;
            let count = entries.len() as f64;
            let degrees = entries.iter().map(|entry| entry.degree as f64);
            let mean = degrees.clone().sum::<f64>() / count;
            let variance = degrees.map(|d| (d - mean) * (d - mean)).sum::<f64>() / count;
            Some(ConnectivityRow {
                stream: launch.stream.0,
                superstep: launch.superstep.0,
                kernel: source.sites.display_name(&launch.kernel).to_owned(),
                entries: entries.len() as u64,
                mean,
                deviation: variance.sqrt(),
            })
        })
        .collect()
}
