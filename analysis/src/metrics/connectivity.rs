//! Figure 6.9: how the out-degree of CTAs develops over the supersteps.

use super::degree::OutDegree;
use super::{Row, Source};
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};

/// Out-degrees of one launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectivityRow {
    /// Stream of the source launch.
    pub stream: u32,
    /// Its number within the stream.
    pub superstep: u32,
    /// Name of its kernel for people.
    pub kernel: String,
    /// Out-degree entries, see `degree`.
    pub entries: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, that of all and not of a sample.
    pub deviation: f64,
}

impl Row for ConnectivityRow {
    const TABLE: &'static str = "connectivity";
    const COLUMNS: &'static [Column] = &[
        column("stream", "", "stream of the source launch"),
        column("superstep", "", "its number within the stream, from 0"),
        column(
            "kernel",
            "",
            "its kernel, demangled name without parameters",
        ),
        column(
            "entries",
            "",
            "(CTA, receiving kernel) pairs that something was received from",
        ),
        column("mean", "CTAs", "mean out-degree"),
        column("deviation", "CTAs", "standard deviation of the out-degree"),
    ];
}

/// Every source launch that something was received from, in the order of the host's calls; `out` sorted.
#[must_use]
pub fn rows(source: &Source<'_>, out: &[OutDegree]) -> Vec<ConnectivityRow> {
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
