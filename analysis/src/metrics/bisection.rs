//! Figure 6.4: bytes that cross a cut through the middle of the grid.

use super::{Row, Source, share};
use crate::columns;
use crate::error::Result;
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The cut through one dimension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BisectionRow {
    /// `x`, `y` or `z`.
    pub dimension: String,
    /// Distinct coordinates of the CTAs that take part in transfers.
    pub coordinates: u64,
    /// First coordinate beyond the cut.
    pub cut: u64,
    /// Bytes of transfers across the cut, in either direction.
    pub crossing_bytes: u64,
    /// Their share of all transferred bytes, from 0 to 1.
    pub share: f64,
    /// Bytes as Rieber 2017 counts them: from the low side to any higher coordinate.
    pub as_published_bytes: u64,
    /// Their share.
    pub as_published_share: f64,
}

impl Row for BisectionRow {
    const TABLE: &'static str = "bisection";
    const COLUMNS: &'static [Column] = &[
        column("dimension", "", "of the grid"),
        column(
            "coordinates",
            "",
            "distinct coordinates of the CTAs that take part in transfers",
        ),
        column("cut", "", "first coordinate beyond the cut"),
        column(
            "crossing_bytes",
            "bytes",
            "transfers whose source and receiver lie on different sides",
        ),
        columns::SHARE_OF_TRANSFERRED,
        column(
            "as_published_bytes",
            "bytes",
            "as the thesis' figure counts: sources on the low side, receivers at any higher coordinate",
        ),
        column("as_published_share", "", "share of all transferred bytes"),
    ];
}

/// For x, y and z.
///
/// # Errors
/// [`crate::AnalysisError::Spill`] when the transfers are on disk and cannot be read.
pub fn rows(source: &Source<'_>) -> Result<Vec<BisectionRow>> {
    let mut used: [BTreeSet<u32>; 3] = Default::default();
    // Most CTAs take part in many transfers, one after the other.
    let mut last = [None; 2];
    source.transfers().each(|t| {
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
    let cuts = used
        .each_ref()
        .map(|used| used.iter().nth(used.len() / 2).copied().unwrap_or(0));
    let (mut all, mut crossing, mut published) = (0, [0; 3], [0; 3]);
    source.transfers().each(|t| {
        all += t.bytes;
        let from = source.coordinates(t.source_launch, t.source_cta);
        let to = source.coordinates(t.receiver_launch, t.receiver_cta);
        for d in 0..3 {
            if (from[d] < cuts[d]) != (to[d] < cuts[d]) {
                crossing[d] += t.bytes;
            }
            if from[d] < cuts[d] && to[d] > from[d] {
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
