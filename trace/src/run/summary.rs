//! The summary of a run, which its runtime's journal tells.

use crate::{Backend, DeviceInfo, Process};
use serde::{Deserialize, Serialize};
use std::path::Path;

pub const SUMMARY_SCHEMA_VERSION: u32 = 1;

/// Resources of a multiprocessor that a kernel takes, as the CUDA runtime reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    pub registers: u32,
    /// Local memory of a thread: spilled registers and local arrays.
    pub local_bytes: u64,
    /// Threads of a CTA, in its first launch.
    pub cta_threads: u32,
    /// Shared memory of a CTA, static and dynamic, in its first launch.
    pub shared_bytes: u64,
    /// CTAs that fit on a multiprocessor together.
    pub sm_ctas: u32,
    /// Threads that a multiprocessor has room for.
    pub sm_threads: u32,
}

impl KernelResources {
    /// Share of a multiprocessor's threads that can be occupied, 0 to 1.
    pub fn occupancy(&self) -> f64 {
        f64::from(self.sm_ctas * self.cta_threads) / f64::from(self.sm_threads.max(1))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTotals {
    pub name: String,
    pub launches: u64,
    pub ns: u64,
    /// Resources of a multiprocessor; only known on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<KernelResources>,
}

/// Counts of the counting probe in one launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchCounts {
    pub stream: u32,
    pub launch: u32,
    pub kernel: String,
    /// Site number and thread accesses at it; sites that were not reached are left out.
    pub sites: Vec<(u32, u64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub schema_version: u32,
    pub backend: Backend,
    pub device: DeviceInfo,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    pub launches: u64,
    /// Threads of the host that launched kernels. Where they are several, launches come in another order in each run.
    #[serde(default)]
    pub host_threads: u32,
    pub kernel_ns: u64,
    /// By kernel, in order of first launch.
    pub kernels: Vec<KernelTotals>,
    /// Records that did not reach the capture.
    pub records_lost: u64,
    /// Errors; the run is void when there is any.
    pub faults: Vec<String>,
    pub warnings: Vec<String>,
    /// Counts of the counting probe; absent with another probe.
    pub counts: Option<Vec<LaunchCounts>>,
    /// Accesses to addresses outside every allocation.
    pub bad_addresses: u64,
    /// Opaque launches by kernel, in order of first launch; `kernel_ns` does not hold their time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<KernelTotals>,
    /// Whether the program's exit handlers ran.
    #[serde(skip)]
    pub ended: bool,
}

impl Summary {
    pub fn new(backend: Backend) -> Self {
        Summary {
            schema_version: SUMMARY_SCHEMA_VERSION,
            backend,
            device: DeviceInfo::default(),
            process: None,
            launches: 0,
            host_threads: 0,
            kernel_ns: 0,
            kernels: Vec::new(),
            records_lost: 0,
            faults: Vec::new(),
            warnings: Vec::new(),
            counts: None,
            bad_addresses: 0,
            opaque: Vec::new(),
            ended: false,
        }
    }

    /// Writes the summary, at once: a reader sees the old file or the new one.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut json = serde_json::to_vec(self).map_err(std::io::Error::from)?;
        json.push(b'\n');
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        std::fs::write(&part, json).and_then(|()| std::fs::rename(&part, path))
    }
}
