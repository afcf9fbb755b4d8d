//! Counts: how many accesses of which kind, by launch, by kernel and in all.

use crate::error::Result;
use crate::widths::Widths;
use serde::{Deserialize, Serialize};
use superstep_table::table;
use superstep_trace::{AccessGroup, Launch, LaunchId, Op, SiteTable, StreamId};

/// The access groups of one launch, in chunks that can be read independently of each other.
///
/// Reading the chunks one after the other gives each thread's accesses in program order.
pub trait GroupSource: Sync {
    fn chunks(&self) -> usize;

    /// Hands every group of a chunk to `sink`, in order.
    fn read(&self, chunk: usize, sink: &mut dyn FnMut(&AccessGroup) -> Result<()>) -> Result<()>;
}

impl GroupSource for Vec<Vec<AccessGroup>> {
    fn chunks(&self) -> usize {
        self.len()
    }

    fn read(&self, chunk: usize, sink: &mut dyn FnMut(&AccessGroup) -> Result<()>) -> Result<()> {
        self[chunk].iter().try_for_each(sink)
    }
}

table! {
    /// Accesses by class. An atomic operation is an atomic here, neither a load nor a store.
    pub struct Counts: Copy, Eq, Serialize, Deserialize {
        thread_loads: u64 ["accesses"] = "loads, one for each thread";
        thread_stores: u64 ["accesses"] = "stores, one for each thread";
        thread_atomics: u64 ["accesses"] = "atomics, one for each thread; neither loads nor stores";
        loaded_bytes: u64 ["bytes"] = "bytes of the loads, each access with its whole width";
        stored_bytes: u64 ["bytes"] = "bytes of the stores";
        atomic_bytes: u64 ["bytes"] = "bytes of the atomics, once";
        warp_loads: u64 ["access groups"] = "loads, one for each warp";
        warp_stores: u64 ["access groups"] = "stores, one for each warp";
        warp_atomics: u64 ["access groups"] = "atomics, one for each warp";
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

    /// Thread accesses of all classes.
    pub fn thread_accesses(&self) -> u64 {
        self.thread_loads + self.thread_stores + self.thread_atomics
    }
}

added_up! {
    Counts: thread_loads, thread_stores, thread_atomics, loaded_bytes, stored_bytes, atomic_bytes,
        warp_loads, warp_stores, warp_atomics, widths
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchCounts {
    pub stream: StreamId,
    /// Superstep: number within the stream.
    pub superstep: LaunchId,
    pub kernel: String,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    pub ctas: u64,
    pub counts: Counts,
}

impl LaunchCounts {
    pub fn new(launch: &Launch, counts: Counts) -> Self {
        Self {
            stream: launch.stream,
            superstep: launch.launch,
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            ctas: launch.ctas(),
            counts,
        }
    }
}

/// Counts of all launches of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    pub kernel: String,
    /// Demangled name without parameters.
    pub display_name: String,
    pub launches: u64,
    pub ctas: u64,
    pub counts: Counts,
}

/// Counts by launch, by kernel and in all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountTables {
    /// In the order of the launches' sequence numbers.
    pub launches: Vec<LaunchCounts>,
    /// In the order of first launch.
    pub kernels: Vec<KernelCounts>,
    /// Number of CTAs, summed over all launches.
    pub ctas: u64,
    pub total: Counts,
}

impl CountTables {
    /// Sums up `launches`; `sites` knows the kernels' names for people.
    pub fn new(launches: Vec<LaunchCounts>, sites: &SiteTable) -> Self {
        let mut tables = Self::default();
        for launch in &launches {
            tables.ctas += launch.ctas;
            tables.total += launch.counts;
            let mut known = tables.kernels.iter();
            let at = known.position(|known| known.kernel == launch.kernel);
            let at = at.unwrap_or_else(|| {
                tables.kernels.push(KernelCounts {
                    kernel: launch.kernel.clone(),
                    display_name: sites.display_name(&launch.kernel).to_owned(),
                    launches: 0,
                    ctas: 0,
                    counts: Counts::default(),
                });
                tables.kernels.len() - 1
            });
            let kernel = &mut tables.kernels[at];
            kernel.launches += 1;
            kernel.ctas += launch.ctas;
            kernel.counts += launch.counts;
        }
        tables.launches = launches;
        tables
    }
}
