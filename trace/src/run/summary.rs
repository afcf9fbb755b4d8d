//! The summary of a run, read from its runtime's journal.

use crate::{Backend, DeviceInfo, Process};
use serde::{Deserialize, Serialize};
use std::path::Path;

pub const SUMMARY_SCHEMA_VERSION: u32 = 1;

/// Multiprocessor resources that a kernel uses, as the CUDA runtime reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    pub registers: u32,
    /// Local memory per thread: spilled registers and local arrays.
    pub local_bytes: u64,
    /// Threads per CTA, in the kernel's first launch.
    pub cta_threads: u32,
    /// Shared memory per CTA, static and dynamic, in the kernel's first launch.
    pub shared_bytes: u64,
    /// CTAs that fit on a multiprocessor at once.
    pub sm_ctas: u32,
    /// Maximum number of threads on a multiprocessor.
    pub sm_threads: u32,
}

impl KernelResources {
    /// Returns the share of a multiprocessor's threads that can be occupied, from 0 to 1.
    pub fn occupancy(&self) -> f64 {
        f64::from(self.sm_ctas * self.cta_threads) / f64::from(self.sm_threads.max(1))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTotals {
    pub name: String,
    pub launches: u64,
    pub ns: u64,
    /// Multiprocessor resources; known only on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<KernelResources>,
}

/// Counts from the counting probe in one launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchCounts {
    pub stream: u32,
    pub launch: u32,
    pub kernel: String,
    /// Site numbers with their thread accesses; sites that were not reached are left out.
    pub sites: Vec<(u32, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub schema_version: u32,
    pub backend: Backend,
    pub device: DeviceInfo,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    pub launches: u64,
    /// Number of host threads that launched kernels. With more than one, the order of launches can differ between runs.
    #[serde(default)]
    pub host_threads: u32,
    pub kernel_ns: u64,
    /// By kernel, in order of first launch.
    pub kernels: Vec<KernelTotals>,
    /// Records that did not reach the capture.
    pub records_lost: u64,
    /// Errors; any of them invalidates the run.
    pub faults: Vec<String>,
    pub warnings: Vec<String>,
    /// Counts from the counting probe; absent with another probe.
    pub counts: Option<Vec<LaunchCounts>>,
    /// Accesses to addresses outside any allocation.
    pub bad_addresses: u64,
    /// Opaque launches by kernel, in order of first launch; `kernel_ns` does not include their time.
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
            ..Summary::default()
        }
    }

    /// Writes the summary atomically.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        let mut json = serde_json::to_vec(self).map_err(std::io::Error::from)?;
        json.push(b'\n');
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        std::fs::write(&part, json).and_then(|()| std::fs::rename(&part, path))
    }
}
