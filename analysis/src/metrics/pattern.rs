//! Communication patterns between pairs of launches, classified by rules.

use super::{Source, share};
use crate::columns;
use crate::error::Result;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;

/// Minimum share of all pairs of sources and receivers in a complete pattern.
const COMPLETE: f64 = 0.9;
/// Minimum share of the bytes between neighbours in a stencil.
const NEIGHBOURLY: f64 = 0.9;
/// Minimum average replication of a broadcast.
const REPLICATED: f64 = 2.0;

table! {
    /// Bytes that one launch received from an earlier one.
    pub struct PatternRow = "pattern": Deserialize {
        source_stream: u32 = columns::SOURCE_STREAM;
        source_superstep: u32 = columns::SUPERSTEP_OF_STREAM;
        receiver_stream: u32 = columns::RECEIVER_STREAM;
        receiver_superstep: u32 = columns::SUPERSTEP_OF_STREAM;
        pattern: String = "see docs/metrics.md for the rules";
        sources: u64 ["CTAs"] = "CTAs from which bytes were received";
        receivers: u64 ["CTAs"] = "CTAs that received bytes";
        pairs: u64 = "pairs of source and receiver";
        completeness: f64 = "pairs / (sources · receivers)";
        max_out: u64 ["CTAs"] = "maximum number of receivers per source";
        max_in: u64 ["CTAs"] = "maximum number of sources per receiver";
        neighbour_share: f64 = "share of the bytes between CTAs at most 1 apart in each dimension";
        replication: f64 ["CTAs"] = "mean number of CTAs that received a byte communicated by the source launch";
        bytes: u64 ["bytes"] = "received bytes";
    }
}

#[derive(Default)]
struct Sums {
    out: FxHashMap<u32, u64>,
    into: FxHashMap<u32, u64>,
    pairs: u64,
    bytes: u64,
    neighbour_bytes: u64,
}

/// Returns each pair of launches in which the second received bytes from the first, sorted by source and receiver.
pub(super) fn rows(source: &Source<'_>) -> Result<Vec<PatternRow>> {
    let mut rows = Vec::new();
    let mut from = None;
    let mut receivers: BTreeMap<u32, Sums> = BTreeMap::new();
    source.communication.transfers.each(|t| {
        if from != Some(t.source_launch) {
            if let Some(from) = from {
                rows.extend(of(source, from, std::mem::take(&mut receivers)));
            }
            from = Some(t.source_launch);
        }
        let sums = receivers.entry(t.receiver_launch).or_default();
        *sums.out.entry(t.source_cta).or_default() += 1;
        *sums.into.entry(t.receiver_cta).or_default() += 1;
        sums.pairs += 1;
        sums.bytes += t.bytes;
        let a = source.coordinates(t.source_launch, t.source_cta);
        let b = source.coordinates(t.receiver_launch, t.receiver_cta);
        if a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 1) {
            sums.neighbour_bytes += t.bytes;
        }
    })?;
    if let Some(from) = from {
        rows.extend(of(source, from, receivers));
    }
    Ok(rows)
}

fn of(source: &Source<'_>, from: u32, receivers: BTreeMap<u32, Sums>) -> Vec<PatternRow> {
    let received: u64 = receivers.values().map(|sums| sums.bytes).sum();
    let launches = &source.communication.launches;
    let Some(sender) = launches.get(from as usize) else {
        return Vec::new();
    };
    let replication = share(received, sender.volume.communicated_stored_bytes);
    (receivers.into_iter())
        .filter_map(|(to, sums)| {
            let receiver = launches.get(to as usize)?;
            let (sources, receivers) = (sums.out.len() as u64, sums.into.len() as u64);
            let mut row = PatternRow {
                source_stream: sender.stream.0,
                source_superstep: sender.superstep.0,
                receiver_stream: receiver.stream.0,
                receiver_superstep: receiver.superstep.0,
                sources,
                receivers,
                pairs: sums.pairs,
                completeness: share(sums.pairs, sources * receivers),
                max_out: sums.out.values().copied().max().unwrap_or(0),
                max_in: sums.into.values().copied().max().unwrap_or(0),
                neighbour_share: share(sums.neighbour_bytes, sums.bytes),
                replication,
                bytes: sums.bytes,
                ..PatternRow::default()
            };
            row.pattern = name(&row).to_owned();
            Some(row)
        })
        .collect()
}

fn name(row: &PatternRow) -> &'static str {
    let replicated = row.replication >= REPLICATED;
    let complete = row.completeness >= COMPLETE && row.sources > 1 && row.receivers > 1;
    match row {
        _ if row.max_out == 1 && row.max_in == 1 => "point-to-point",
        _ if complete && replicated => "all-to-all",
        _ if complete => "gather",
        _ if row.max_in == 1 && replicated => "broadcast",
        _ if row.max_in == 1 => "scatter",
        _ if row.max_out == 1 => "gather",
        _ if row.neighbour_share >= NEIGHBOURLY => "stencil",
        _ => "irregular",
    }
}

#[cfg(test)]
mod tests;
