//! Figure 6.2: how large transfers are, as a distribution function.

use super::{Row, Source, share};
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Transfers of one size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferSizeRow {
    /// Size in bytes.
    pub size_bytes: u64,
    /// Transfers of this size.
    pub transfers: u64,
    /// Share of the transfers that are at most as large, from 0 to 1.
    pub cumulative_share: f64,
}

impl Row for TransferSizeRow {
    const TABLE: &'static str = "transfer-size";
    const COLUMNS: &'static [Column] = &[
        column("size_bytes", "bytes", "distinct bytes of a transfer"),
        column("transfers", "transfers", "transfers of this size"),
        column(
            "cumulative_share",
            "",
            "share of the transfers that are at most as large",
        ),
    ];
}

/// By size, ascending.
#[must_use]
pub fn rows(source: &Source<'_>) -> Vec<TransferSizeRow> {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for transfer in source.transfers() {
        *sizes.entry(transfer.bytes).or_default() += 1;
    }
    let (all, mut sum) = (source.transfers().len() as u64, 0);
    (sizes.into_iter())
        .map(|(size_bytes, transfers)| {
            sum += transfers;
            TransferSizeRow {
                size_bytes,
                transfers,
                cumulative_share: share(sum, all),
            }
        })
        .collect()
}
