//! Results of a whole run beside its sums, in memory or on disk: transfers, and the addresses of what communicates.

use super::strides::Strides;
use super::sums::ShardOut;
use super::volume::Transfer;
use crate::communication::spill::file::SpillFolder;
use crate::communication::spill::sorted::Sorter;
use crate::error::Result;
use std::sync::Arc;
use superstep_trace::Cancellation;

/// Entries that a shard always may keep; few, so that small tests take all ways.
const LEAST_ENTRIES: usize = 8;

pub(crate) struct Kept {
    pub(crate) transfers: Sorter<Transfer>,
    pub(crate) strides: Strides,
    /// Entries of one kind that a shard may have before it has to hand them on.
    most: usize,
}

impl Kept {
    /// Up to `bytes` of transfers, of loads and of stores stay in memory; the rest goes to `folder`.
    pub(crate) fn new(bytes: usize, folder: &Arc<SpillFolder>, cancellation: Cancellation) -> Self {
        let transfers = Sorter::new("transfers", bytes, folder.clone(), cancellation);
        Self {
            most: transfers.run_items().max(LEAST_ENTRIES),
            transfers,
            strides: Strides::new(bytes, folder.clone(), cancellation),
        }
    }

    /// Takes what a shard has found in the launch at `position` since the last call.
    pub(crate) fn take(&self, position: u32, out: &mut ShardOut) -> Result<()> {
        self.transfers.append(out.transfers(position))?;
        self.strides.take(&mut out.loads, &mut out.stores)
    }

    /// Takes a shard's results once there are many: in a single page, each of many CTAs may receive
    /// from each of many others.
    #[inline]
    pub(crate) fn take_many(&self, position: u32, out: &mut ShardOut) -> Result<()> {
        let entries = out.transfers.len().max(out.loads.len());
        if entries.max(out.stores.len()) < self.most {
            return Ok(());
        }
        self.take(position, out)
    }
}
