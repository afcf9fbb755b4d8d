//! The YAML as it is written: one strict struct for each mapping. Values that have rules carry their position.

use serde::Deserialize;
use superstep_trace::{Backend, Same};

use super::spans::{Entries, FlagOr, Located};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SuiteFile {
    pub schema: Located<u32>,
    pub name: Located<String>,
    pub title: Located<String>,
    pub source: Located<SourceEntry>,
    pub data: Option<DataEntry>,
    pub default_size: Located<String>,
    pub benchmarks: Located<Vec<Located<String>>>,
    #[serde(default)]
    pub groups: Entries<Vec<Located<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SourceEntry {
    pub in_tree: Option<Located<bool>>,
    pub git: Option<GitEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct GitEntry {
    pub url: Located<String>,
    pub commit: Located<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DataEntry {
    pub archive_url: Located<String>,
    pub archive_sha256: Located<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BenchmarkFile {
    pub schema: Located<u32>,
    pub name: Located<String>,
    pub title: Located<String>,
    pub why: Located<String>,
    pub directory: Option<Located<String>>,
    #[serde(default)]
    pub files: Vec<Located<String>>,
    pub translation_units: Located<Vec<UnitEntry>>,
    #[serde(default)]
    pub include: Vec<Located<String>>,
    #[serde(default)]
    pub flags: Flags,
    #[serde(default)]
    pub constants: Vec<ConstantEntry>,
    pub only_on: Option<Backend>,
    pub deterministic: Option<Located<FlagOr<BecauseEntry>>>,
    pub start_in: Option<Located<String>>,
    pub timeout_s: Option<Located<u64>>,
    pub memory_limit_mib: Option<Located<u64>>,
    pub sizes: Located<Entries<SizeEntry>>,
    #[serde(default)]
    pub checks: ChecksEntry,
    #[serde(default)]
    pub expected: Entries<Expected>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct UnitEntry {
    pub file: Located<String>,
    pub language: Located<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ConstantEntry {
    pub file: Located<String>,
    pub name: Located<String>,
    pub value: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct BecauseEntry {
    pub false_because: String,
    pub on: Option<Backend>,
    #[serde(default = "launches")]
    pub same: Same,
    #[serde(default)]
    pub results_differ: bool,
}

fn launches() -> Same {
    Same::Launches
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SizeEntry {
    pub args: Vec<String>,
    #[serde(default)]
    pub inputs: Vec<Located<InputEntry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct InputEntry {
    pub name: Located<String>,
    pub shipped: Option<Located<String>>,
    pub data: Option<Located<String>>,
    pub url: Option<Located<String>>,
    pub sha256: Option<Located<String>>,
    pub generate: Option<GenerateEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct GenerateEntry {
    pub generator: String,
    pub seed: u64,
    #[serde(default)]
    pub parameters: Entries<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct ChecksEntry {
    pub exit_code: i32,
    pub stdout_contains: Vec<String>,
    pub volatile_lines: Vec<Located<String>>,
    pub output_files: Vec<Located<String>>,
}

/// Additional flags, in the order given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Flags {
    pub all: Vec<String>,
    pub device: Vec<String>,
    pub host: Vec<String>,
    pub link: Vec<String>,
}

/// Counts known beforehand; `None` is not checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
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
