//! What a checked manifest says. Every value here passed the rules of `check`, so that its users need no rules of
//! their own: paths stay inside their folder, hashes are hashes, regular expressions compile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;
pub use superstep_toolchain::Sha256;
use superstep_trace::{Backend, Same};

use super::schema::{Expected, Flags};
use crate::inputs::Generator;

/// A suite: `suites/<suite>/suite.yaml` and the manifests of its benchmarks, in the order of the list there.
#[derive(Debug, Clone)]
pub struct Suite {
    pub folder: PathBuf,
    /// Name on the command line and in `out/<suite>/`.
    pub name: String,
    pub title: String,
    pub source: Source,
    /// The upstream archive that holds the input data, if there is one.
    pub data: Option<DataArchive>,
    /// The size that runs when none is asked for; every benchmark has it.
    pub default_size: String,
    pub benchmarks: Vec<Benchmark>,
    /// Names for some of them: `--only @NAME` takes these.
    pub groups: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    InTree,
    /// A git repository at one commit.
    Git {
        /// URL that `git fetch` understands.
        url: String,
        /// Full commit id, 40 lower-case hex digits.
        commit: String,
    },
}

/// A published archive of input data. A data mirror has the layout of the archive's data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataArchive {
    pub url: String,
    pub sha256: Sha256,
}

#[derive(Debug, Clone)]
pub struct Benchmark {
    pub manifest: PathBuf,
    /// Name on the command line and in results.
    pub name: String,
    pub title: String,
    /// Which communication the program shows.
    pub why: String,
    /// Folder of the program inside the source; `files`, `include` and the translation units are relative to it.
    pub directory: PathBuf,
    /// Every file that a git source has to deliver, translation units included, without duplicates.
    pub files: Vec<PathBuf>,
    pub translation_units: Vec<TranslationUnit>,
    pub include: Vec<PathBuf>,
    pub flags: Flags,
    /// Constants of the source that get another value.
    pub constants: Vec<Constant>,
    /// The only backend that can run it; `None` when both can.
    pub only_on: Option<Backend>,
    pub deterministic: Determinism,
    /// Folder inside the working folder in which the program starts; empty for the working folder itself.
    pub start_in: PathBuf,
    /// Wall time after which one run of the program is ended.
    pub timeout_s: u64,
    /// Resident memory in MiB above which one run of the program is ended; `None` for most of the machine's.
    pub memory_limit_mib: Option<u64>,
    pub sizes: BTreeMap<String, Size>,
    pub checks: Checks,
    /// Counts known beforehand, by size.
    pub expected: BTreeMap<String, Expected>,
}

/// A file that is compiled on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranslationUnit {
    /// Path relative to the benchmark's `directory`.
    pub file: PathBuf,
    pub language: Language,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// CUDA C++: device and host code.
    Cuda,
    C,
    Cpp,
    /// Nothing any more: an executable that its own build system made, or a shared library that it loads.
    Built,
}

/// A number that the source fixes, and the value that the program is compiled with instead: most often how often it
/// repeats itself to take the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// Path relative to the benchmark's `directory`.
    pub file: PathBuf,
    /// Name of the macro or variable.
    pub name: String,
    pub value: u64,
}

/// Whether two runs with the same input make the same accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Determinism {
    /// They do: digests are compared.
    Deterministic,
    /// They do not, for this reason.
    Varies {
        because: String,
        /// The only backend on which they do not; `None` for all.
        on: Option<Backend>,
        /// What is the same in every run all the same.
        same: Same,
        /// Whether the output files differ as well.
        results_differ: bool,
    },
}

impl Determinism {
    /// What every run on `backend` has in common.
    pub fn same(&self, backend: Backend) -> Same {
        match self {
            Determinism::Varies { on, same, .. } if on.is_none_or(|on| on == backend) => *same,
            _ => Same::Digests,
        }
    }

    /// Whether the output files of two runs on `backend` may differ.
    pub fn results_differ(&self, backend: Backend) -> bool {
        matches!(self, Determinism::Varies { on, results_differ: true, .. }
            if on.is_none_or(|on| on == backend))
    }
}

#[derive(Debug, Clone, Default)]
pub struct Size {
    /// Command-line arguments, without the program's name.
    pub args: Vec<String>,
    /// Files that the program finds in its working folder.
    pub inputs: Vec<Input>,
}

#[derive(Debug, Clone)]
pub struct Input {
    /// Path in the working folder.
    pub name: PathBuf,
    /// Where it comes from, tried in this order.
    pub sources: InputSource,
    /// Expected SHA-256 of the shipped, mirrored or downloaded file. A generated stand-in has another.
    pub sha256: Option<Sha256>,
}

/// Where an input may come from; at least one is there, `shipped` only alone.
#[derive(Debug, Clone, Default)]
pub struct InputSource {
    /// A file of this repository: path inside the suite's folder.
    pub shipped: Option<PathBuf>,
    /// Path inside the suite's data folder, which a data mirror stands in for.
    pub data: Option<PathBuf>,
    /// `https` URL of the file itself.
    pub url: Option<String>,
    /// Made here when the file cannot be had; the result says so.
    pub generate: Option<Generator>,
}

/// What a correct result looks like, untraced and traced alike.
#[derive(Debug, Clone, Default)]
pub struct Checks {
    pub exit_code: i32,
    /// Texts that its standard output has to contain.
    pub stdout_contains: Vec<String>,
    /// Lines of its standard output that differ from run to run (times); left out of the comparison.
    pub volatile_lines: Vec<Regex>,
    /// Files in the working folder that have to be the same, byte for byte, after the untraced and the traced run.
    pub output_files: Vec<PathBuf>,
}

impl Suite {
    pub fn benchmark(&self, name: &str) -> Option<&Benchmark> {
        self.benchmarks.iter().find(|one| one.name == name)
    }
}

impl Benchmark {
    /// Path inside the source of a path that the manifest gives relative to `directory`, without `.` and `..`.
    pub fn in_source(&self, relative: &Path) -> PathBuf {
        super::rules::normalised(&self.directory.join(relative))
            .unwrap_or_else(|| self.directory.join(relative))
    }
}
