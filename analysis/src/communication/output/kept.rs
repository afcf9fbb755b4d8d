//! Results of a whole run other than sums, in memory or on disk: transfers and communicating addresses.

use super::loads::KeptLoads;
use super::strides::Run;
use super::sums::ShardOut;
use super::volume::Transfer;
use crate::communication::spill::limit::MemoryLimit;
use crate::communication::spill::sorted::Sorter;
use crate::error::Result;
use superstep_trace::Cancellation;

/// Number of entries that a shard may always keep, whatever the limit; low, so that small tests cover all paths.
const MIN_ENTRIES: usize = 8;

/// Number of transfers or stores that a shard may keep from one launch to the next.
const MAX_ENTRIES_BETWEEN_LAUNCHES: usize = 1 << 9;

pub(crate) struct Kept {
    pub(crate) transfers: Sorter<Transfer>,
    /// Loads from launches whose distances have not been counted yet.
    pub(crate) loads: KeptLoads,
    pub(crate) stores: Sorter<Run>,
    /// Number of entries of one kind at which a shard moves them here immediately.
    max_entries: usize,
    /// Number of entries of one kind at which a shard moves them here at the end of a launch.
    max_entries_between_launches: usize,
}

impl Kept {
    pub(crate) fn new(limit: &MemoryLimit, cancellation: Cancellation) -> Self {
        let transfers: Sorter<Transfer> = limit.sorter("transfers", cancellation);
        let max_entries = transfers.run_items.max(MIN_ENTRIES);
        Self {
            max_entries,
            max_entries_between_launches: max_entries.min(MAX_ENTRIES_BETWEEN_LAUNCHES),
            transfers,
            loads: KeptLoads::new(limit, cancellation),
            stores: limit.sorter("stores", cancellation),
        }
    }

    /// Moves a shard's results here.
    pub(crate) fn take(&self, out: &mut ShardOut) -> Result<()> {
        self.transfers.append(out.take_transfers())?;
        self.loads.append(out.loads.take())?;
        self.stores.append(out.stores.take())
    }

    /// Moves a shard's loads here at the end of a launch, and its other results if there are enough of them.
    pub(crate) fn take_after_launch(&self, out: &mut ShardOut) -> Result<()> {
        if out.transfers.len().max(out.stores.len()) >= self.max_entries_between_launches {
            return self.take(out);
        }
        self.loads.append(out.loads.take())
    }

    /// Moves a shard's results here if there are too many: in one page, many CTAs can each receive from many others.
    #[inline]
    pub(crate) fn take_if_full(&self, out: &mut ShardOut) -> Result<()> {
        let entries = out.transfers.len().max(out.loads.len());
        if entries.max(out.stores.len()) < self.max_entries {
            return Ok(());
        }
        self.take(out)
    }
}
