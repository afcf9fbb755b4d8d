//! Limits the memory that an analysis uses.

use super::file::SpillFolder;
use super::sorted::{Item, Sorter};
use std::path::PathBuf;
use std::sync::Arc;
use superstep_trace::Cancellation;

/// Memory limit of an analysis.
///
/// Bounds the data that grows with the program: the records of a launch, the shadow memory, transfers and strides. Data
/// that exceeds the limit is moved to temporary files and read back in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Maximum memory of the whole process in bytes.
    pub bytes: u64,
    /// Folder for temporary files, which are removed when the analysis is dropped.
    pub spill_into: PathBuf,
}

/// Number of a shard's records that a thread may always load at once, whatever the limit; low, so that small tests
/// cover all paths.
const MIN_RECORDS: usize = 8;

impl MemoryLimit {
    pub fn none() -> Self {
        Self {
            bytes: u64::MAX,
            spill_into: std::env::temp_dir(),
        }
    }

    /// Creates a sorter that uses its share of the memory.
    pub(crate) fn sorter<T: Item>(
        &self,
        name: &'static str,
        cancellation: Cancellation,
    ) -> Sorter<T> {
        let folder = Arc::new(SpillFolder::new(self.spill_into.clone()));
        Sorter::new(name, self.budget().sorter_bytes, folder, cancellation)
    }

    pub(crate) fn budget(&self) -> Budget {
        // For the program itself, chunks in flight, and the parts that threads are working on.
        const FIXED: u64 = 192 << 20;
        // About a fifth is memory that the allocator does not return to the system.
        let rest = self.bytes.saturating_sub(FIXED) / 5 * 4;
        let percent = |percent: u64| usize::try_from(rest / 100 * percent).unwrap_or(usize::MAX);
        Budget {
            record_bytes: percent(28),
            page_bytes: percent(25),
            sorter_bytes: percent(7),
            // Each record needs 2 × 24 bytes. Half of the memory for records is for shards: half of that is divided
            // between the threads, and the rest is for shards that need more than their thread's share.
            shard_records: (percent(28) / 192 / rayon::current_num_threads()).max(MIN_RECORDS),
            extra_records: percent(28) / 192,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) record_bytes: usize,
    pub(crate) page_bytes: usize,
    /// Maximum size of each of the four sorters: transfers, stores, and the loads of two batches of launches.
    pub(crate) sorter_bytes: usize,
    /// Number of a shard's records that every thread may load at once.
    pub(crate) shard_records: usize,
    /// Maximum total number of records of larger shards that all threads may load at once.
    pub(crate) extra_records: usize,
}
