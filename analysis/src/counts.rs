//! Access counts by kind, for each launch, each kernel and the whole program.

use crate::columns;
use crate::error::Result;
use crate::widths::Widths;
use serde::{Deserialize, Serialize};
use superstep_table::table;
use superstep_trace::{AccessGroup, Launch, Op, SiteTable, WARP_LANES};

/// The access groups of one launch, in chunks that can be read independently of each other.
///
/// Reading the chunks in order gives each thread's accesses in program order.
pub trait GroupSource: Sync {
    fn chunks(&self) -> usize;

    /// Returns the maximum number of accesses in all chunks, counting each lane.
    fn max_thread_accesses(&self) -> u64;

    /// Passes every group of a chunk to `sink`, in order.
    fn read(&self, chunk: usize, sink: &mut dyn FnMut(&AccessGroup) -> Result<()>) -> Result<()>;
}

impl<C: AsRef<[Vec<AccessGroup>]> + Sync> GroupSource for C {
    fn chunks(&self) -> usize {
        self.as_ref().len()
    }

    fn max_thread_accesses(&self) -> u64 {
        let groups = self.as_ref().iter().map(Vec::len).sum::<usize>();
        (groups * WARP_LANES) as u64
    }

    fn read(&self, chunk: usize, sink: &mut dyn FnMut(&AccessGroup) -> Result<()>) -> Result<()> {
        self.as_ref()[chunk].iter().try_for_each(sink)
    }
}

table! {
    /// Accesses by class. An atomic operation is neither a load nor a store here.
    pub struct Counts: Copy, Eq, Serialize, Deserialize {
        thread_loads: u64 ["accesses"] = "loads, counted per thread";
        thread_stores: u64 ["accesses"] = "stores, counted per thread";
        thread_atomics: u64 ["accesses"] = "atomics, counted per thread; neither loads nor stores";
        loaded_bytes: u64 ["bytes"] = "bytes loaded, counting each access at its full width";
        stored_bytes: u64 ["bytes"] = "bytes stored";
        atomic_bytes: u64 ["bytes"] = "bytes accessed by atomics, counted once";
        warp_loads: u64 ["access groups"] = "loads, counted per warp";
        warp_stores: u64 ["access groups"] = "stores, counted per warp";
        warp_atomics: u64 ["access groups"] = "atomics, counted per warp";
        widths: Widths;
    }
}

impl Counts {
    #[inline]
    pub fn group(&mut self, group: &AccessGroup, op: Op) {
        let lanes = group.lanes() as u64;
        let bytes = lanes * u64::from(group.width_bytes);
        let (threads, total, warps) = match op {
            Op::Load => (
                &mut self.thread_loads,
                &mut self.loaded_bytes,
                &mut self.warp_loads,
            ),
            Op::Store => (
                &mut self.thread_stores,
                &mut self.stored_bytes,
                &mut self.warp_stores,
            ),
            _ => (
                &mut self.thread_atomics,
                &mut self.atomic_bytes,
                &mut self.warp_atomics,
            ),
        };
        *threads += lanes;
        *total += bytes;
        *warps += 1;
        self.widths.count(group.width_bytes, lanes);
    }

    pub fn thread_accesses(&self) -> u64 {
        self.thread_loads + self.thread_stores + self.thread_atomics
    }
}

crate::add_assign! {
    Counts: thread_loads, thread_stores, thread_atomics, loaded_bytes, stored_bytes, atomic_bytes,
        warp_loads, warp_stores, warp_atomics, widths
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCounts {
    pub launch: Launch,
    pub counts: Counts,
}

table! {
    /// One kernel; rows are in order of first launch.
    pub struct KernelCounts = "counts-by-kernel": Eq {
        kernel: String = columns::KERNEL;
        kernel_symbol: String = columns::KERNEL_SYMBOL;
        launches: u64 ["launches"] = columns::LAUNCHES;
        ctas: u64 ["CTAs"] = "CTAs, summed over the launches";
        counts: Counts;
    }
}

/// Counts by launch, by kernel and in total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountTables {
    /// Counts in the order of the launches' sequence numbers.
    pub launches: Vec<LaunchCounts>,
    pub kernels: Vec<KernelCounts>,
    /// Number of CTAs, summed over all launches.
    pub ctas: u64,
    pub total: Counts,
}

impl CountTables {
    /// Sums `launches`; `sites` provides the kernels' demangled names.
    pub fn new(launches: Vec<LaunchCounts>, sites: &SiteTable) -> Self {
        let mut tables = Self::default();
        for LaunchCounts { launch, counts } in &launches {
            tables.ctas += launch.ctas();
            tables.total += *counts;
            let mut known = tables.kernels.iter();
            let at = known.position(|known| known.kernel_symbol == launch.kernel);
            let at = at.unwrap_or_else(|| {
                tables.kernels.push(KernelCounts {
                    kernel: sites.display_name(&launch.kernel).to_owned(),
                    kernel_symbol: launch.kernel.clone(),
                    ..KernelCounts::default()
                });
                tables.kernels.len() - 1
            });
            let kernel = &mut tables.kernels[at];
            kernel.launches += 1;
            kernel.ctas += launch.ctas();
            kernel.counts += *counts;
        }
        tables.launches = launches;
        tables
    }
}
