//! Communication patterns between pairs of launches, classified by rules.

use super::{Source, share};
use crate::columns;
use crate::communication::Transfer;
use crate::error::Result;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;

/// Minimum share of the pairs of sources and receivers that communicate in a complete pattern.
const MIN_COMPLETENESS: f64 = 0.9;
/// Minimum share of the bytes exchanged between neighbours in a stencil.
const MIN_NEIGHBOUR_SHARE: f64 = 0.9;
/// Minimum average replication of a broadcast.
const MIN_REPLICATION: f64 = 2.0;

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
    let by_launch = source.communication.transfers.by_launch(
        |receivers: &mut BTreeMap<u32, Sums>, transfers| {
            for group in transfers.chunk_by(|a, b| a.receiver_launch == b.receiver_launch) {
                let sums = receivers.entry(group[0].receiver_launch).or_default();
                sums.add(source, group);
            }
        },
        |receivers, more| {
            for (launch, sums) in more {
                receivers.entry(launch).or_default().join(sums);
            }
        },
        |from, receivers| launch_rows(source, from, receivers),
    )?;
    Ok(by_launch.into_iter().flatten().collect())
}

impl Sums {
    /// Adds the transfers from one CTA to one launch.
    fn add(&mut self, source: &Source<'_>, transfers: &[Transfer]) {
        let first = transfers[0];
        let from = source.coordinates(first.source_launch, first.source_cta);
        *self.out.entry(first.source_cta).or_default() += transfers.len() as u64;
        self.pairs += transfers.len() as u64;
        for t in transfers {
            *self.into.entry(t.receiver_cta).or_default() += 1;
            self.bytes += t.bytes;
            let to = source.coordinates(t.receiver_launch, t.receiver_cta);
            if from.iter().zip(to).all(|(a, b)| a.abs_diff(b) <= 1) {
                self.neighbour_bytes += t.bytes;
            }
        }
    }

    fn join(&mut self, other: Self) {
        self.out.extend(other.out);
        for (cta, sources) in other.into {
            *self.into.entry(cta).or_default() += sources;
        }
        self.pairs += other.pairs;
        self.bytes += other.bytes;
        self.neighbour_bytes += other.neighbour_bytes;
    }
}

fn launch_rows(source: &Source<'_>, from: u32, receivers: BTreeMap<u32, Sums>) -> Vec<PatternRow> {
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
    let replicated = row.replication >= MIN_REPLICATION;
    let complete = row.completeness >= MIN_COMPLETENESS && row.sources > 1 && row.receivers > 1;
    match row {
        _ if row.max_out == 1 && row.max_in == 1 => "point-to-point",
        _ if complete && replicated => "all-to-all",
        _ if complete => "gather",
        _ if row.max_in == 1 && replicated => "broadcast",
        _ if row.max_in == 1 => "scatter",
        _ if row.max_out == 1 => "gather",
        _ if row.neighbour_share >= MIN_NEIGHBOUR_SHARE => "stencil",
        _ => "irregular",
    }
}

#[cfg(test)]
mod tests;
