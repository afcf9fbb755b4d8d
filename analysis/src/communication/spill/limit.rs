//! The memory limit of an analysis and the place for what exceeds it.

use super::file::SpillFolder;
use super::sorted::{Item, Sorter};
use std::path::PathBuf;
use std::sync::Arc;
use superstep_trace::Cancellation;

/// A limit to the memory of an analysis.
///
/// It bounds what grows with the program: the records of a launch, the shadow memory, and what is kept of transfers and
/// strides. The rest goes to temporary files and is read back in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Bytes of memory of the whole process.
    pub bytes: u64,
    /// Folder in which temporary files are made; they are removed with the analysis.
    pub spill_into: PathBuf,
}

/// Records of a shard that are always taken together; few, so that small tests take all ways.
const LEAST_RECORDS: usize = 8;

impl MemoryLimit {
    pub fn none() -> Self {
        Self {
            bytes: u64::MAX,
            spill_into: std::env::temp_dir(),
        }
    }

    /// Creates a sorter with its share of the memory.
    pub(crate) fn sorter<T: Item>(
        &self,
        name: &'static str,
        cancellation: Cancellation,
    ) -> Sorter<T> {
        let folder = Arc::new(SpillFolder::new(self.spill_into.clone()));
        Sorter::new(name, self.budget().sorter_bytes, folder, cancellation)
    }

    pub(crate) fn budget(&self) -> Budget {
        // The program itself, chunks on their way, and the parts that threads are working on.
        const FIXED: u64 = 192 << 20;
        // The allocator cannot return a fifth to the system.
        let rest = self.bytes.saturating_sub(FIXED) / 5 * 4;
        let percent = |percent: u64| usize::try_from(rest / 100 * percent).unwrap_or(usize::MAX);
        Budget {
            record_bytes: percent(35),
            page_bytes: percent(30),
            sorter_bytes: percent(5),
            // Twice 24 bytes for each, in half of the memory for records.
            shard_records: (percent(35) / 96 / rayon::current_num_threads()).max(LEAST_RECORDS),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) record_bytes: usize,
    pub(crate) page_bytes: usize,
    /// Transfers, loads and stores: each of the three.
    pub(crate) sorter_bytes: usize,
    /// Records of a shard that a thread takes together.
    pub(crate) shard_records: usize,
}
