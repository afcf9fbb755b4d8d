//! The pattern of communication between two launches, named by rule.

use super::{Source, share};
use crate::columns;
use crate::error::Result;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;

/// From this share of all pairs of sources and receivers on, everybody talks to everybody.
const COMPLETE: f64 = 0.9;
/// From this share of the bytes between neighbours on, a pattern is a stencil.
const NEIGHBOURLY: f64 = 0.9;
/// A byte that is received so often on average was sent to many.
const REPLICATED: f64 = 2.0;

table! {
    /// What one launch received from an earlier one.
    pub struct PatternRow = "pattern": Deserialize {
        source_stream: u32 = columns::SOURCE_STREAM;
        source_superstep: u32 = columns::SUPERSTEP_OF_STREAM;
        receiver_stream: u32 = columns::RECEIVER_STREAM;
        receiver_superstep: u32 = columns::SUPERSTEP_OF_STREAM;
        pattern: String = "see docs/metrics.md for the rules";
        sources: u64 ["CTAs"] = "CTAs that something was received from";
        receivers: u64 ["CTAs"] = "CTAs that received something";
        pairs: u64 = "pairs of source and receiver";
        completeness: f64 = "pairs / (sources · receivers)";
        max_out: u64 ["CTAs"] = "most receivers of a source";
        max_in: u64 ["CTAs"] = "most sources of a receiver";
        neighbour_share: f64 = "share of the bytes between CTAs at most 1 apart in each dimension";
        replication: f64 ["CTAs"] = "CTAs that received a byte of the source launch, on average";
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

/// Every pair of launches of which the second received something from the first, sorted by source and receiver.
pub(super) fn rows(source: &Source<'_>) -> Result<Vec<PatternRow>> {
    let mut rows = Vec::new();
    let mut from = None;
    let mut receivers: BTreeMap<u32, Sums> = BTreeMap::new();
    source.transfers().each(|t| {
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

/// Rows of the source launch `from`.
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

/// The first rule that fits.
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
mod tests {
    use super::*;
    use crate::metrics::tests::{Step, source_of};
    use superstep_trace::{Op, SiteTable};

    /// The pattern of a launch of `ctas` CTAs that stores `stores` and of a second one that loads `loads`: (CTA, word).
    fn pattern(ctas: u32, stores: &[(u32, u64)], loads: &[(u32, u64)]) -> PatternRow {
        let step = |kernel, op, accesses: &[(u32, u64)]| Step {
            kernel,
            grid: [ctas, 1, 1],
            accesses: (accesses.iter())
                .map(|&(cta, word)| (cta, op, 0x1000 + 4 * word))
                .collect(),
        };
        let program = [step("f", Op::Store, stores), step("g", Op::Load, loads)];
        let (communication, grids) = source_of(&program);
        let sites = SiteTable::default();
        let found = rows(&Source::new(&communication, &grids, &sites));
        let mut found = found.unwrap();
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn patterns_have_their_names() {
        let own: Vec<(u32, u64)> = (0..8).map(|cta| (cta, u64::from(cta))).collect();
        let pairs = |f: &dyn Fn(u32, u32) -> bool| -> Vec<(u32, u64)> {
            (0..8)
                .flat_map(|a| (0..8).map(move |b| (a, b)))
                .filter(|&(a, b)| f(a, b))
                .map(|(a, b)| (a, u64::from(b)))
                .collect()
        };
        // CTA a loads word b, which CTA b stored.
        let by_words = |f: &dyn Fn(u32, u32) -> bool| pattern(8, &own, &pairs(f));
        assert_eq!(by_words(&|a, b| a == (b + 3) % 8).pattern, "point-to-point");
        let all = by_words(&|_, _| true);
        assert_eq!(
            (all.pattern.as_str(), all.completeness, all.replication),
            ("all-to-all", 1.0, 8.0)
        );
        let stencil = by_words(&|a, b| a.abs_diff(b) <= 1);
        assert_eq!(
            (stencil.pattern.as_str(), stencil.pairs, stencil.max_in),
            ("stencil", 22, 3)
        );
        assert_eq!(by_words(&|_, b| b == 5).pattern, "broadcast");
        assert_eq!(by_words(&|a, b| a == b / 4).pattern, "gather");
        assert_eq!(
            by_words(&|a, b| a * 5 % 8 == b || a * 3 % 8 == b).pattern,
            "irregular"
        );
        // CTA 2 stores eight words, one for each; and each CTA stores one for each.
        let one: Vec<(u32, u64)> = (0..8).map(|word| (2, word)).collect();
        assert_eq!(pattern(8, &one, &own).pattern, "scatter");
        let table: Vec<(u32, u64)> = (0..64).map(|word| (word as u32 / 8, word)).collect();
        let columns: Vec<(u32, u64)> = (0..64).map(|word| (word as u32 % 8, word)).collect();
        let gather = pattern(8, &table, &columns);
        assert_eq!(
            (gather.pattern.as_str(), gather.replication),
            ("gather", 1.0)
        );
    }
}
