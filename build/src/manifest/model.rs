//! The types of a manifest, read from and written as YAML. Loading ensures that paths stay inside their folders, names
//! are identifiers, and `files` is complete: see `validate`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::{Deserialize, Serialize};
pub use superstep_toolchain::Sha256;
use superstep_trace::{Backend, Reproducibility};

use super::scalar::{regexes, schema};
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
    pub in_tree: Option<bool>,
    pub git: Option<GitSource>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GitSource {
    pub url: String,
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
    #[serde(rename = "archive-sha256")]
    pub sha256: Sha256,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Benchmark {
    #[serde(with = "schema")]
    pub schema: (),
    pub name: String,
    pub title: String,
    pub why: String,
    /// Folder of the program inside the source; `files`, `include` and the translation units are relative to it.
    #[serde(default)]
    pub directory: PathBuf,
    /// Every file to fetch from a git source. Loading adds the translation units.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    pub translation_units: Vec<TranslationUnit>,
    #[serde(default)]
    pub include: Vec<PathBuf>,
    #[serde(default)]
    pub flags: Flags,
    #[serde(default)]
    pub constants: Vec<Constant>,
    /// The only backend that can run the program; `None` if both can.
    pub only_on: Option<Backend>,
    #[serde(default)]
    pub deterministic: Determinism,
    #[serde(default)]
    pub start_in: PathBuf,
    /// Wall time in seconds after which a run of the program is killed.
    #[serde(default = "five_minutes")]
    pub timeout_s: u64,
    /// Resident memory in MiB above which a run of the program is killed; defaults to most of the machine's memory.
    pub memory_limit_mib: Option<u64>,
    pub sizes: BTreeMap<String, Size>,
    #[serde(default)]
    pub checks: Checks,
    /// Counts known in advance, by size.
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
    /// Built by the program's own build system: an executable, or a shared library that it loads.
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
    pub file: PathBuf,
    pub name: String,
    pub value: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Determinism {
    #[default]
    Deterministic,
    Varies(Variation),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Variation {
    pub false_because: String,
    /// The only backend on which runs differ; `None` if they differ on both.
    pub on: Option<Backend>,
    #[serde(default = "launches")]
    pub same: Reproducibility,
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
            Self::Varies(variation) => {
                Some(variation).filter(|it| it.on.is_none_or(|on| on == backend))
            }
        }
    }

    pub fn same(&self, backend: Backend) -> Reproducibility {
        self.variation_on(backend)
            .map_or(Reproducibility::Digests, |variation| variation.same)
    }

    pub fn results_differ(&self, backend: Backend) -> bool {
        self.variation_on(backend)
            .is_some_and(|variation| variation.results_differ)
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Size {
    pub args: Vec<String>,
    #[serde(default)]
    pub inputs: Vec<Input>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    pub name: PathBuf,
    pub shipped: Option<PathBuf>,
    /// Path inside the suite's data folder or a data mirror.
    pub data: Option<PathBuf>,
    pub url: Option<String>,
    pub sha256: Option<Sha256>,
    /// Generator of a replacement for an unavailable file; results report its use.
    pub generate: Option<Generator>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Checks {
    pub exit_code: i32,
    pub stdout_contains: Vec<String>,
    /// Lines of standard output that differ from run to run, such as times; excluded from the comparison.
    #[serde(with = "regexes")]
    pub volatile_lines: Vec<Regex>,
    pub output_files: Vec<PathBuf>,
}

/// Counts known in advance; those that are `None` are not checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Expected {
    pub launches: Option<u64>,
    pub ctas: Option<u64>,
    pub ctas_each_launch: Option<u64>,
    pub thread_loads: Option<u64>,
    pub thread_stores: Option<u64>,
    pub thread_atomics: Option<u64>,
}

impl Suite {
    pub fn benchmark(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks.iter().find(|entry| entry.name == name)
    }
}

impl Benchmark {
    /// Converts a path relative to `directory` to one relative to the source, without `.` and `..`.
    pub fn in_source(&self, relative: &Path) -> PathBuf {
        let path = self.directory.join(relative);
        normalised(&path).unwrap_or(path)
    }
}
