//! Figure 6.2: distribution of transfer sizes.

use crate::error::Result;
use crate::metrics::{Source, share};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::collections::BTreeMap;
use superstep_table::table;

table! {
    /// Transfers of one size.
    pub struct TransferSizeRow = "transfer-size": Deserialize {
        size_bytes: u64 ["bytes"] = "distinct bytes in a transfer";
        transfers: u64 ["transfers"] = "transfers of this size";
        cumulative_share: f64 = "share of the transfers of at most this size";
    }
}

/// Returns the sizes in ascending order.
pub(in crate::metrics) fn rows(source: &Source<'_>) -> Result<Vec<TransferSizeRow>> {
    let sizes = source.communication.transfers.sum(
        FxHashMap::<u64, u64>::default,
        |sizes, transfers| {
            for transfer in transfers {
                *sizes.entry(transfer.bytes).or_default() += 1;
            }
        },
        |sizes, more| {
            for (size, transfers) in more {
                *sizes.entry(size).or_default() += transfers;
            }
        },
    )?;
    let sizes = BTreeMap::from_iter(sizes);
    let (all, mut sum) = (source.communication.transfers.len(), 0);
    Ok((sizes.into_iter())
        .map(|(size_bytes, transfers)| {
            sum += transfers;
            TransferSizeRow {
                size_bytes,
                transfers,
                cumulative_share: share(sum, all),
            }
        })
        .collect())
}
