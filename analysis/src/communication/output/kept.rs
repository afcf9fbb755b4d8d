//! Results of a whole run other than sums, in memory or on disk: transfers and communicating addresses.

use super::strides::Run;
use super::sums::ShardOut;
use super::volume::Transfer;
use crate::communication::spill::limit::MemoryLimit;
use crate::communication::spill::sorted::Sorter;
use crate::error::Result;
use superstep_trace::Cancellation;

/// Number of entries that a shard may always keep; small, so that small tests cover all paths.
const MIN_ENTRIES: usize = 8;

/// Number of transfers or stores that a shard may keep from launch to launch.
const SOME_ENTRIES: usize = 1 << 9;

pub(crate) struct Kept {
    pub(crate) transfers: Sorter<Transfer>,
    /// Loads of launches whose distances have not been counted yet.
    pub(crate) loads: Sorter<Run>,
    pub(crate) stores: Sorter<Run>,
    /// A shard with this many entries of one kind moves them here immediately.
    most: usize,
    /// A shard with this many entries of one kind moves them here at the end of a launch.
    some: usize,
}

impl Kept {
    pub(crate) fn new(limit: &MemoryLimit, cancellation: Cancellation) -> Self {
        let transfers: Sorter<Transfer> = limit.sorter("transfers", cancellation);
        let most = transfers.run_items.max(MIN_ENTRIES);
        Self {
            most,
            some: most.min(SOME_ENTRIES),
            transfers,
            loads: limit.sorter("loads", cancellation),
            stores: limit.sorter("stores", cancellation),
        }
    }

    /// Takes the results that a shard has collected.
    pub(crate) fn take(&self, out: &mut ShardOut) -> Result<()> {
        self.transfers.append(out.take_transfers())?;
        self.loads.append(out.loads.take())?;
        self.stores.append(out.stores.take())
    }

    /// Takes a shard's results at the end of a launch. Only its loads are needed then.
    pub(crate) fn take_launch(&self, out: &mut ShardOut) -> Result<()> {
        if out.transfers.len().max(out.stores.len()) >= self.some {
            return self.take(out);
        }
        self.loads.append(out.loads.take())
    }

    /// Takes a shard's results once they are numerous: within a single page, many CTAs may each receive from many others.
    #[inline]
    pub(crate) fn take_many(&self, out: &mut ShardOut) -> Result<()> {
        let entries = out.transfers.len().max(out.loads.len());
        if entries.max(out.stores.len()) < self.most {
            return Ok(());
        }
        self.take(out)
    }
}
