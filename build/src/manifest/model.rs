//! The types of a manifest, as its YAML is read and written. `validate` has the rules that types do not express: of a
//! loaded manifest, paths stay inside their folder, names are plain and files are listed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::{Deserialize, Serialize};
pub use superstep_toolchain::Sha256;
use superstep_trace::{Backend, Reproducibility};

use super::scalar::{hash, optional_hash, regexes, schema};
use super::validate::normalised;
use crate::inputs::Generator;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Suite {
    #[serde(with = "schema")]
    pub schema: (),
    pub name: String,
    pub title: String,
    pub source: Source,
    pub data: Option<DataArchive>,
    pub default_size: String,
    #[serde(rename = "benchmarks")]
    pub names: Vec<String>,
    #[serde(default)]
    pub groups: BTreeMap<String, Vec<String>>,
    #[serde(skip)]
    pub folder: PathBuf,
    #[serde(skip)]
    pub benchmarks: Vec<Benchmark>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Source {
    /// `true` for the suite's own folder.
    pub in_tree: Option<bool>,
    pub git: Option<GitSource>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GitSource {
    /// URL that `git fetch` understands.
    pub url: String,
    /// Full commit id, 40 lower-case hex digits.
    pub commit: String,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            in_tree: Some(true),
            git: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataArchive {
    #[serde(rename = "archive-url")]
    pub url: String,
    #[serde(rename = "archive-sha256", with = "hash")]
    pub sha256: Sha256,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Benchmark {
    #[serde(with = "schema")]
    pub schema: (),
    pub name: String,
    pub title: String,
    /// Which communication the program shows.
    pub why: String,
    /// Folder of the program inside the source; `files`, `include` and the translation units are relative to it.
    #[serde(default)]
    pub directory: PathBuf,
    /// Every file that a git source has to deliver. Loading adds the translation units.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    pub translation_units: Vec<TranslationUnit>,
    #[serde(default)]
    pub include: Vec<PathBuf>,
    #[serde(default)]
    pub flags: Flags,
    #[serde(default)]
    pub constants: Vec<Constant>,
    /// The only backend that can run it; `None` when both can.
    pub only_on: Option<Backend>,
    #[serde(default)]
    pub deterministic: Determinism,
    #[serde(default)]
    pub start_in: PathBuf,
    /// Wall time after which one run of the program is ended.
    #[serde(default = "five_minutes")]
    pub timeout_s: u64,
    /// Resident memory in MiB above which one run of the program is ended; `None` for most of the machine's.
    pub memory_limit_mib: Option<u64>,
    pub sizes: BTreeMap<String, Size>,
    #[serde(default)]
    pub checks: Checks,
    /// Counts known beforehand, by size.
    #[serde(default)]
    pub expected: BTreeMap<String, Expected>,
    #[serde(skip)]
    pub manifest: PathBuf,
}

fn five_minutes() -> u64 {
    300
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TranslationUnit {
    /// Path relative to the benchmark's `directory`.
    pub file: PathBuf,
    pub language: Language,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    /// CUDA C++: device and host code.
    Cuda,
    C,
    #[serde(rename = "c++")]
    Cpp,
    /// Prebuilt: an executable that its own build system made, or a shared library that it loads.
    Built,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Flags {
    pub all: Vec<String>,
    pub device: Vec<String>,
    pub host: Vec<String>,
    pub link: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Constant {
    /// Path relative to the benchmark's `directory`.
    pub file: PathBuf,
    /// Name of the macro or variable.
    pub name: String,
    pub value: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Determinism {
    /// Digests are compared.
    #[default]
    Deterministic,
    Varies(Variation),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variation {
    /// The reason.
    pub false_because: String,
    /// The only backend on which they differ; `None` for all.
    pub on: Option<Backend>,
    /// Properties that all runs share.
    #[serde(default = "launches")]
    pub same: Reproducibility,
    /// Whether the output files differ as well.
    #[serde(default)]
    pub results_differ: bool,
}

fn launches() -> Reproducibility {
    Reproducibility::Launches
}

impl Variation {
    pub fn new(false_because: impl Into<String>) -> Self {
        Self {
            false_because: false_because.into(),
            on: None,
            same: launches(),
            results_differ: false,
        }
    }
}

impl Determinism {
    fn variation_on(&self, backend: Backend) -> Option<&Variation> {
        match self {
            Self::Deterministic => None,
            Self::Varies(how) => Some(how).filter(|how| how.on.is_none_or(|on| on == backend)),
        }
    }

    /// Properties that all runs on `backend` share.
    pub fn same(&self, backend: Backend) -> Reproducibility {
        self.variation_on(backend)
            .map_or(Reproducibility::Digests, |how| how.same)
    }

    /// Whether the output files of two runs on `backend` may differ.
    pub fn results_differ(&self, backend: Backend) -> bool {
        self.variation_on(backend)
            .is_some_and(|how| how.results_differ)
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Size {
    /// Command-line arguments, without the program's name.
    pub args: Vec<String>,
    /// Files that the program finds in its working folder.
    #[serde(default)]
    pub inputs: Vec<Input>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    pub name: PathBuf,
    /// Path inside the suite's folder.
    pub shipped: Option<PathBuf>,
    /// Path inside the suite's data folder, or a data mirror.
    pub data: Option<PathBuf>,
    /// `https` URL of the file itself.
    pub url: Option<String>,
    #[serde(default, with = "optional_hash")]
    pub sha256: Option<Sha256>,
    /// A stand-in for a file that is not available; the result says so.
    pub generate: Option<Generator>,
}

/// Properties of a correct result, untraced and traced.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Checks {
    pub exit_code: i32,
    /// Texts that its standard output has to contain.
    pub stdout_contains: Vec<String>,
    /// Lines of its standard output that differ from run to run (times); left out of the comparison.
    #[serde(with = "regexes")]
    pub volatile_lines: Vec<Regex>,
    /// Files in the working folder that have to be the same, byte for byte, after the untraced and the traced run.
    pub output_files: Vec<PathBuf>,
}

/// Counts known beforehand; `None` is not checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Expected {
    pub launches: Option<u64>,
    /// CTAs of all launches together.
    pub ctas: Option<u64>,
    /// CTAs of each single launch.
    pub ctas_each_launch: Option<u64>,
    /// Loads of global memory by single threads, all launches together.
    pub thread_loads: Option<u64>,
    /// Stores to global memory by single threads.
    pub thread_stores: Option<u64>,
    /// Atomic operations on global memory by single threads.
    pub thread_atomics: Option<u64>,
}

impl Suite {
    pub fn benchmark(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks.iter().find(|one| one.name == name)
    }
}

impl Benchmark {
    /// Path inside the source of a path that the manifest gives relative to `directory`, without `.` and `..`.
    pub fn in_source(&self, relative: &Path) -> PathBuf {
        let path = self.directory.join(relative);
        normalised(&path).unwrap_or(path)
    }
}
