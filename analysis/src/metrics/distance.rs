//! Figure 6.8: how many launches lie between writing and reading.

use super::{Row, Source, share};
use crate::columns;
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Transfers over one distance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistanceRow {
    /// Launches between source and receiver, in the order of the host's calls.
    pub distance: u32,
    /// Bytes of the transfers.
    pub bytes: u64,
    /// Their share of all transferred bytes, from 0 to 1.
    pub share: f64,
}

impl Row for DistanceRow {
    const TABLE: &'static str = "superstep-distance";
    const COLUMNS: &'static [Column] = &[
        columns::DISTANCE,
        column("bytes", "bytes", "bytes of the transfers"),
        columns::SHARE_OF_TRANSFERRED,
    ];
}

/// By distance, ascending.
#[must_use]
pub fn rows(source: &Source<'_>) -> Vec<DistanceRow> {
    let mut distances: BTreeMap<u32, u64> = BTreeMap::new();
    for flow in &source.communication.flows {
        let distance = flow.receiver_launch - flow.source_launch - 1;
        *distances.entry(distance).or_default() += flow.bytes;
    }
    let all = distances.values().sum();
    (distances.into_iter())
        .map(|(distance, bytes)| DistanceRow {
            distance,
            bytes,
            share: share(bytes, all),
        })
        .collect()
}
