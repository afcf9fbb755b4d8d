//! The summary that a runtime writes when its program ends.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// What a runtime says about the run. Fields that are absent read as empty.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Version of the file's layout.
    pub schema_version: u32,
    /// `cpu` or `cuda`.
    pub backend: String,
    /// What ran the kernels.
    pub device: superstep_trace::DeviceInfo,
    /// Number of kernel launches.
    pub launches: u64,
    /// Time of all kernels together.
    pub kernel_ns: u64,
    /// The same for each kernel.
    pub kernels: Vec<KernelTime>,
    /// Records that were lost; anything but 0 is a fault of the tracer.
    pub records_lost: u64,
    /// Errors of the program or of the runtime.
    pub faults: Vec<String>,
    /// What is worth a look.
    pub warnings: Vec<String>,
    /// Thread accesses of each site, by launch; only from a counting run.
    pub counts: Option<Vec<LaunchCounts>>,
    /// Accesses outside every allocation.
    pub bad_addresses: u64,
}

/// Time spent in one kernel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelTime {
    /// Mangled name.
    pub name: String,
    /// How often it ran.
    pub launches: u64,
    /// How long it ran, all launches together.
    pub ns: u64,
}

/// Counts of one launch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LaunchCounts {
    /// Its stream.
    pub stream: u32,
    /// Its number within the stream.
    pub launch: u32,
    /// Mangled name of its kernel.
    pub kernel: String,
    /// Site and thread accesses; sites that were not executed are left out.
    pub sites: Vec<(u32, u64)>,
}

impl Summary {
    /// Reads a summary file.
    ///
    /// # Errors
    /// In words: the file is missing (the program never started its runtime, or was killed), or is not a summary.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
        let summary: Self = serde_json::from_str(&text).map_err(|error| format!("failed to read {}: {error}", path.display()))?;
        if summary.schema_version != 1 {
            return Err(format!(
                "failed to read {}: schema version {} where 1 was expected; rebuild the runtime",
                path.display(),
                summary.schema_version
            ));
        }
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn reads_what_a_counting_run_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        let text = r#"{"schema_version":1,"backend":"cpu","device":{"name":"x","compute_capability":[9,0]},"launches":2,
            "kernel_ns":5,"kernels":[{"name":"k","launches":2,"ns":5}],"records_lost":0,"faults":[],"warnings":["w"],
            "counts":[{"stream":0,"launch":1,"kernel":"k","sites":[[3,640]]}],"bad_addresses":0}"#;
        std::fs::write(&path, text).unwrap();
        let summary = Summary::read(&path).unwrap();
        assert_eq!(summary.counts.unwrap()[0].sites, [(3, 640)]);
        std::fs::write(&path, text.replace("\"schema_version\":1", "\"schema_version\":2")).unwrap();
        assert!(Summary::read(&path).unwrap_err().contains("schema version 2"));
        assert!(Summary::read(&folder.path().join("absent")).is_err());
    }
}
