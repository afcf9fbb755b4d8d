//! The summary of a run: a small JSON file that the harness reads.

use crate::RuntimeError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use superstep_trace::{Backend, DeviceInfo};

/// Version of the summary's JSON.
pub const SUMMARY_SCHEMA_VERSION: u32 = 1;

/// The device, with its compute capability as people write it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSummary {
    /// Its name.
    pub name: String,
    /// `major.minor`.
    pub compute_capability: String,
    /// Driver version, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

impl From<&DeviceInfo> for DeviceSummary {
    fn from(device: &DeviceInfo) -> Self {
        let [major, minor] = device.compute_capability;
        DeviceSummary {
            name: device.name.clone(),
            compute_capability: format!("{major}.{minor}"),
            driver: device.driver.clone(),
        }
    }
}

/// Time and number of a kernel's launches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTotals {
    /// Mangled name.
    pub name: String,
    /// Launches.
    pub launches: u64,
    /// Time of all launches.
    pub ns: u64,
}

/// What the counting probe counted in one launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchCounts {
    /// Stream.
    pub stream: u32,
    /// Launch within the stream.
    pub launch: u32,
    /// Mangled name of the kernel.
    pub kernel: String,
    /// Site number and thread accesses at it; sites that were not reached are left out.
    pub sites: Vec<(u32, u64)>,
}

/// Everything the summary says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SUMMARY_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Where the kernels ran.
    pub backend: Backend,
    /// On which device.
    pub device: DeviceSummary,
    /// Launches of all kernels.
    pub launches: u64,
    /// Time of all launches.
    pub kernel_ns: u64,
    /// By kernel, in order of first launch.
    pub kernels: Vec<KernelTotals>,
    /// Records that did not reach the capture.
    pub records_lost: u64,
    /// What went wrong; the run is void when there is any.
    pub faults: Vec<String>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What the counting probe counted; absent with another probe.
    pub counts: Option<Vec<LaunchCounts>>,
    /// Accesses to addresses outside every allocation.
    pub bad_addresses: u64,
}

impl Summary {
    /// Writes the summary, at once: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RuntimeError> {
        let failed = |source| RuntimeError::Summary {
            path: path.to_owned(),
            source,
        };
        let mut json = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        json.push(b'\n');
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        std::fs::write(&part, json)
            .and_then(|()| std::fs::rename(&part, path))
            .map_err(failed)
    }
}
