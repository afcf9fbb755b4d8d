//! Figure 6.4: bytes that cross a cut through the middle of the grid.

use crate::columns;
use crate::error::Result;
use crate::metrics::{Source, share};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use std::collections::BTreeSet;
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

/// Transferred bytes, in total and by dimension.
#[derive(Default)]
struct Sums {
    all: u64,
    crossing: [u64; 3],
    published: [u64; 3],
}

/// Returns the cuts through x, y and z.
pub(in crate::metrics) fn rows(source: &Source<'_>) -> Result<Vec<BisectionRow>> {
    let transfers = &source.communication.transfers;
    let used = transfers.sum(
        <[FxHashSet<u32>; 3]>::default,
        |used, transfers| {
            let first = transfers[0];
            let from = source.coordinates(first.source_launch, first.source_cta);
            let to =
                (transfers.iter()).map(|t| source.coordinates(t.receiver_launch, t.receiver_cta));
            for at in to.chain([from]) {
                for (used, coordinate) in used.iter_mut().zip(at) {
                    used.insert(coordinate);
                }
            }
        },
        |used, more| {
            for (used, more) in used.iter_mut().zip(more) {
                used.extend(more);
            }
        },
    )?;
    let used = used.map(|used| Vec::from_iter(BTreeSet::from_iter(used)));
    let first_high = |at: fn(usize) -> usize, missing: u32| {
        used.each_ref()
            .map(|used| used.get(at(used.len())).copied().unwrap_or(missing))
    };
    let cuts = first_high(|count| count / 2, 0);
    // In the published numbers, the middle one of an odd number of coordinates is on the low side.
    let published_cuts = first_high(|count| count.div_ceil(2), u32::MAX);
    let Sums {
        all,
        crossing,
        published,
    } = transfers.sum(
        Sums::default,
        |sums, transfers| {
            let first = transfers[0];
            let from = source.coordinates(first.source_launch, first.source_cta);
            for t in transfers {
                sums.all += t.bytes;
                let to = source.coordinates(t.receiver_launch, t.receiver_cta);
                for d in 0..3 {
                    if (from[d] < cuts[d]) != (to[d] < cuts[d]) {
                        sums.crossing[d] += t.bytes;
                    }
                    let cut = published_cuts[d];
                    let counts = match from[d] < cut {
                        true => to[d] > from[d],
                        false => to[d] < cut,
                    };
                    if counts {
                        sums.published[d] += t.bytes;
                    }
                }
            }
        },
        |sums, more| {
            sums.all += more.all;
            for d in 0..3 {
                sums.crossing[d] += more.crossing[d];
                sums.published[d] += more.published[d];
            }
        },
    )?;
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
