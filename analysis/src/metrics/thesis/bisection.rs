//! Figure 6.4: bytes that cross a cut through the middle of the grid.

use crate::columns;
use crate::error::Result;
use crate::metrics::{Source, share};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use superstep_table::table;

table! {
    /// The cut through one dimension.
    pub struct BisectionRow = "bisection": Deserialize {
        dimension: String = "dimension of the grid";
        coordinates: u64 = "distinct coordinates of the CTAs that take part in transfers";
        cut: u64 = "first coordinate beyond the cut";
        crossing_bytes: u64 ["bytes"] = "transfers whose source and receiver are on different sides";
        share: f64 = columns::SHARE_OF_TRANSFERRED;
        as_published_bytes: u64 ["bytes"] =
            "counted as in Rieber 2017: from the low side to any higher coordinate, and from the high side to the low one";
        as_published_share: f64 = "share of all transferred bytes";
    }
}

/// Returns the cuts through x, y and z.
pub(in crate::metrics) fn rows(source: &Source<'_>) -> Result<Vec<BisectionRow>> {
    let mut used: [FxHashSet<u32>; 3] = Default::default();
    // Most CTAs take part in many consecutive transfers.
    let mut last = [None; 2];
    source.communication.transfers.each(|t| {
        let ends = [
            (t.source_launch, t.source_cta),
            (t.receiver_launch, t.receiver_cta),
        ];
        for (last, end) in last.iter_mut().zip(ends) {
            if *last != Some(end) {
                *last = Some(end);
                let at = source.coordinates(end.0, end.1);
                for (used, coordinate) in used.iter_mut().zip(at) {
                    used.insert(coordinate);
                }
            }
        }
    })?;
    let used = used.map(|used| {
        let mut used: Vec<u32> = used.into_iter().collect();
        used.sort_unstable();
        used
    });
    let cuts = used
        .each_ref()
        .map(|used| used.get(used.len() / 2).copied().unwrap_or(0));
    // In the published numbers, the middle of an odd number of coordinates is on the low side.
    let published_cuts = used.each_ref().map(|used| {
        let first_high = used.get(used.len().div_ceil(2));
        first_high.copied().unwrap_or(u32::MAX)
    });
    let (mut all, mut crossing, mut published) = (0, [0; 3], [0; 3]);
    source.communication.transfers.each(|t| {
        all += t.bytes;
        let from = source.coordinates(t.source_launch, t.source_cta);
        let to = source.coordinates(t.receiver_launch, t.receiver_cta);
        for d in 0..3 {
            if (from[d] < cuts[d]) != (to[d] < cuts[d]) {
                crossing[d] += t.bytes;
            }
            let cut = published_cuts[d];
            let counts = match from[d] < cut {
                true => to[d] > from[d],
                false => to[d] < cut,
            };
            if counts {
                published[d] += t.bytes;
            }
        }
    })?;
    Ok((0..3)
        .map(|d| BisectionRow {
            dimension: ["x", "y", "z"][d].to_owned(),
            coordinates: used[d].len() as u64,
            cut: u64::from(cuts[d]),
            crossing_bytes: crossing[d],
            share: share(crossing[d], all),
            as_published_bytes: published[d],
            as_published_share: share(published[d], all),
        })
        .collect())
}
