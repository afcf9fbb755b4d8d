//! Suites built for machines that have only a GPU driver.
//!
//! ```text
//! DIR/superstep                                   the command itself, for `DIR/superstep run-bundle`
//! DIR/superstep-bench                             the command that measures Superstep, if it was built
//! DIR/bundle.json                                 the programs and their build options
//! DIR/programs/<benchmark>/{native,traced,counted}  start scripts; with --nvcc also `unfused`, and `nvcc.json`
//! DIR/programs/<benchmark>/recording              the recording variant, for --verify-in-situ
//! DIR/programs/<benchmark>/{built,modules}/        the executable that they start, and the modules that it loads
//! DIR/lib/                                        runtime libraries, and those of the programs
//! DIR/suites/<suite>/                             manifests and shipped inputs
//! DIR/golden/<suite>/                             golden results
//! DIR/data/                                       available inputs, laid out like a data mirror
//! ```

mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use superstep_trace::{Backend, Protocol};

pub use write::{BundledProgram, Parts, Programs, traced_programs, write};

use crate::results::read_json;
use crate::session::SourceHashes;
use superstep_build::bail;
use superstep_build::compile::{Executables, ProbedExecutables, Reference};
use superstep_build::failure::{Failure, FailureKind};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleInfo {
    pub schema_version: u32,
    pub tool: String,
    pub suite: String,
    pub backend: Backend,
    /// Architectures in the fat binaries (90 for sm_90), which also contain PTX for the lowest.
    pub gpu_archs: Vec<u32>,
    pub llvm: String,
    pub protocol: Protocol,
    pub benchmarks: Vec<String>,
    /// nvcc's errors by benchmark, in a bundle built with `--nvcc`.
    #[serde(default)]
    pub no_reference: BTreeMap<String, String>,
    #[serde(default)]
    pub sources: BTreeMap<String, SourceHashes>,
}

pub const SCHEMA_VERSION: u32 = 1;

/// File in a program's folder: the recipe for building it with nvcc.
const RECIPE: &str = "nvcc.json";
/// Folder of a program's source files.
const SOURCES: &str = "sources";

#[derive(Debug, Clone)]
pub struct Bundle {
    folder: PathBuf,
    pub info: BundleInfo,
}

impl Bundle {
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join("bundle.json");
        let hint = "pass a folder that `superstep bundle` wrote";
        let info = read_json(&path, SCHEMA_VERSION, FailureKind::Usage, hint)?;
        let folder = (folder.canonicalize()).map_err(Failure::io("open", &folder))?;
        Ok(Self { folder, info })
    }

    /// Opens the bundle in `folder`, or by default the one that contains the running executable.
    pub fn open_or_default(folder: Option<PathBuf>) -> Result<Self, Failure> {
        let own = || std::env::current_exe().ok()?.parent().map(Path::to_owned);
        match folder.or_else(own) {
            Some(folder) => Self::open(&folder),
            None => bail!(Usage, "failed to find the bundle; pass its folder"),
        }
    }

    pub fn suite(&self) -> PathBuf {
        self.folder.join("suites").join(&self.info.suite)
    }

    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub fn probe(&self, name: &str) -> PathBuf {
        self.folder.join("probes").join(name).join("probe.yaml")
    }

    pub fn probed(&self, benchmark: &str, probe: &str) -> Result<ProbedExecutables, Failure> {
        Ok(ProbedExecutables {
            native: self.find(benchmark, "native")?,
            probed: self.find(benchmark, &format!("probe-{probe}"))?,
        })
    }

    fn find(&self, benchmark: &str, name: &str) -> Result<PathBuf, Failure> {
        let path = self.folder.join("programs").join(benchmark).join(name);
        if path.is_file() {
            return Ok(path);
        }
        bail!(
            Tool,
            "failed to find {}: the bundle was built without it; rebuild the bundle to include it",
            path.display()
        )
    }

    pub fn executables(&self, benchmark: &str) -> Result<Executables, Failure> {
        let find = |name| self.find(benchmark, name);
        Ok(Executables {
            native: find("native")?,
            recording: find("recording").ok(),
            traced: find("traced")?,
            counted: find("counted")?,
            reference: match (self.info.no_reference.get(benchmark), find(RECIPE)) {
                (Some(why), _) => Reference::Refused(why.clone()),
                (None, Ok(recipe)) => Reference::Recipe {
                    recipe,
                    native: find("unfused")?,
                },
                (None, Err(_)) => Reference::NotBuilt,
            },
            sources: self.folder.join("programs").join(benchmark).join(SOURCES),
        })
    }
}

#[cfg(test)]
pub mod tests;
