//! Results of a whole run other than sums, in memory or on disk: transfers and communicating addresses.

use super::strides::Run;
use super::sums::ShardOut;
use super::volume::Transfer;
use crate::communication::spill::limit::MemoryLimit;
use crate::communication::spill::sorted::Sorter;
use crate::error::Result;
use superstep_trace::Cancellation;

/// Number of entries that a shard may always keep; small, so that small tests cover all paths.
const LEAST_ENTRIES: usize = 8;

pub(crate) struct Kept {
    pub(crate) transfers: Sorter<Transfer>,
    /// Loads of launches whose distances have not been counted yet.
    pub(crate) loads: Sorter<Run>,
    pub(crate) stores: Sorter<Run>,
    /// A shard with this many entries of one kind moves them here.
    most: usize,
}

impl Kept {
    pub(crate) fn new(limit: &MemoryLimit, cancellation: Cancellation) -> Self {
        let transfers: Sorter<Transfer> = limit.sorter("transfers", cancellation);
        Self {
            most: transfers.run_items.max(LEAST_ENTRIES),
            transfers,
            loads: limit.sorter("loads", cancellation),
            stores: limit.sorter("stores", cancellation),
        }
    }

    /// Takes the results that a shard has collected since the last call, in the launch at `position`.
    pub(crate) fn take(&self, position: u32, out: &mut ShardOut) -> Result<()> {
        self.transfers.append(out.transfers(position))?;
        self.loads.append(out.loads.take())?;
        self.stores.append(out.stores.take())
    }

    /// Takes a shard's results once they are numerous: within a single page, many CTAs may each receive from many others.
    #[inline]
    pub(crate) fn take_many(&self, position: u32, out: &mut ShardOut) -> Result<()> {
        let entries = out.transfers.len().max(out.loads.len());
        if entries.max(out.stores.len()) < self.most {
            return Ok(());
        }
        self.take(position, out)
    }
}
