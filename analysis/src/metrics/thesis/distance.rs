//! Figure 6.8: number of launches between writing and reading.

use crate::columns;
use crate::metrics::{Source, share};
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;

table! {
    /// Transfers over one distance.
    pub struct DistanceRow = "superstep-distance": Deserialize {
        distance: u32 ["launches"] = columns::DISTANCE;
        bytes: u64 ["bytes"] = "bytes of the transfers";
        share: f64 = columns::SHARE_OF_TRANSFERRED;
    }
}

pub(in crate::metrics) fn rows(source: &Source<'_>) -> Vec<DistanceRow> {
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
