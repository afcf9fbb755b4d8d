//! The result file of a run, `run.json`, which the harness writes and the report reads. Field names and nesting form
//! the documented schema. A value that was not measured is `null`, never zero.

mod opaque;
mod processes;
mod within_launch;

use crate::VolumeBounds;
use crate::communication::{Matching, Volume};
use crate::estimate::Estimate;
use crate::metrics::share;
pub use opaque::{OpaqueKernel, OpaqueSummary};
pub use processes::ProcessSummary;
use serde::{Deserialize, Serialize};
pub use superstep_trace::Reproducibility;
use superstep_trace::{Backend, Bounds, CtaBlocks, Failure, KernelResources, Selection};
pub use within_launch::WithinLaunchSummary;

/// Version of the schema of `run.json`; increases when a field changes meaning or is removed.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    pub schema_version: u32,
    pub tool: String,
    pub suite: String,
    /// The size preset: `tiny`, `small` or `thesis`.
    pub size: String,
    pub backend: Backend,
    /// Name of the device (`NVIDIA H100 PCIe`) or model name of the processor.
    pub device: String,
    pub started: String,
    pub finished: String,
    /// Command line, one element per argument.
    pub command: Vec<String>,
    pub host: Host,
    /// Rule that decides whether a read communicates.
    #[serde(default)]
    pub matching: Matching,
    /// Names of the benchmarks in the run, in the suite's order.
    #[serde(default)]
    pub planned: Vec<String>,
    /// Whether every planned benchmark was processed and the report was drawn; false for an interrupted run.
    #[serde(default)]
    pub complete: bool,
    /// Times at which the run was resumed after an interruption, RFC 3339, UTC.
    #[serde(default)]
    pub resumed: Vec<String>,
    /// The benchmarks in the suite's order, including failed and skipped ones.
    pub benchmarks: Vec<BenchmarkSummary>,
}

/// The machine on which a run was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Model name.
    pub cpu: String,
    /// Number of logical cores that the process could use.
    pub cores: u32,
}

superstep_trace::named! {
    #[derive(Default)]
    pub enum Status("status") {
        /// The benchmark ran, and every check passed.
        Passed => "passed",
        /// The benchmark did not build or run, or a check failed.
        #[default]
        Failed => "failed",
        /// The benchmark was not run: the run was interrupted, or the backend is not supported.
        Skipped => "skipped",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BenchmarkSummary {
    /// Name in the manifest, such as `hs2d`.
    pub name: String,
    /// Title in the manifest, such as `Hotspot 2D`.
    pub title: String,
    pub status: Status,
    pub failure: Option<Failure>,
    pub backend: Backend,
    pub size: String,
    /// Every input file, with its hash and origin.
    pub inputs: Vec<InputRecord>,
    pub launches: Option<u64>,
    /// Number of CTAs, summed over all launches.
    pub ctas: Option<u64>,
    /// Number of accesses, counted per thread.
    pub threads: Option<ThreadCounts>,
    pub bytes: Option<ByteCounts>,
    /// Counts by kernel, in the order of first launch.
    pub kernels: Vec<KernelSummary>,
    /// Digest over all launches, hexadecimal.
    pub digest: Option<String>,
    /// Whether the program's accesses are the same in every run; the digest is compared only if they are.
    pub deterministic: bool,
    /// Properties that all runs share; `null` for a benchmark that was not run.
    pub same: Option<Reproducibility>,
    /// Size of the capture folder, in bytes.
    pub capture_bytes: Option<u64>,
    /// Durations; medians when the runs were repeated.
    pub seconds: Seconds,
    /// Variation of the durations; `null` without repeated runs.
    pub repeats: Option<Repeats>,
    /// Failures of earlier attempts, in order.
    pub earlier_attempts: Vec<Failure>,
    /// SHA-256 of executables, arguments, inputs and environment; a resumed run keeps results only if it matches.
    pub ran: Option<String>,
    /// Checks in the order in which they ran.
    pub verification: Vec<Check>,
    pub communication: Option<CommunicationSummary>,
    /// Communication within launches, which `communication` does not include.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_launch: Option<WithinLaunchSummary>,
    /// Extent of a *partial* capture, recorded with a selection. The counts above cover the recorded part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionSummary>,
    /// Whether the run was in situ; if so, there is no digest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_situ: bool,
    /// Granularity of transfers, degrees and derived metrics in an in-situ run; absent for single CTAs.
    #[serde(skip_serializing_if = "CtaBlocks::is_single_cta")]
    pub cta_blocks: CtaBlocks,
    /// Times and resources of each kernel, untraced and traced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel_times: Vec<KernelTime>,
    /// Launches of code that Superstep did not build, in the untraced run; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opaque: Option<OpaqueSummary>,
    /// The process that these results belong to, if multiple processes of the program launched kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessSummary>,
    /// Results of each process, if multiple processes launched kernels; the numbers above are their sums.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<BenchmarkSummary>,
}

impl BenchmarkSummary {
    /// Returns the reason why the result was not compared with the golden one.
    pub fn not_compared(&self) -> Option<NotCompared> {
        let mut checks = self.verification.iter();
        checks.find_map(|check| check.not_compared)
    }

    pub fn warnings(&self) -> impl Iterator<Item = &Check> {
        self.verification.iter().filter(|check| check.warning)
    }

    /// Returns the properties that all runs of the program share.
    pub fn reproducibility(&self) -> Reproducibility {
        self.same.unwrap_or(if self.deterministic {
            Reproducibility::Digests
        } else {
            Reproducibility::Launches
        })
    }
}

/// Extent of a partial capture, and estimates of the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SelectionSummary {
    pub selection: Selection,
    /// Number of launches.
    pub launches: Part,
    /// Number of CTAs in all launches.
    pub ctas: Part,
    /// Ratio of launches or CTAs in the scope to those recorded; 1 without a sample.
    pub scale_factor: f64,
    /// Totals over the scope, estimated from the sample; empty without a sample.
    pub estimates: Vec<EstimatedTotal>,
    /// Reason why a sample has no estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_estimates: Option<String>,
}

impl SelectionSummary {
    /// Returns text such as "partial: 2 of 10 launches, 37 of 18490 CTAs recorded".
    pub fn in_words(&self) -> String {
        let part = |part: Part, what: &str| {
            let recorded = format!("{} of {} {what}", part.recorded, part.program);
            match part.scope {
                scope if scope == part.program => recorded,
                scope => format!("{recorded} ({scope} in the scope)"),
            }
        };
        let launches = part(self.launches, "launches");
        let ctas = part(self.ctas, "CTAs");
        format!("partial: {launches}, {ctas} recorded")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    pub program: u64,
    pub scope: u64,
    pub recorded: u64,
}

crate::add_assign!(Part: program, scope, recorded);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimatedTotal {
    /// Demangled name of the kernel; `None` for all kernels combined.
    pub kernel: Option<String>,
    /// `loads`, `stores`, `atomics` (thread accesses), `bytes_loaded`, `bytes_stored` or `bytes_atomic`.
    pub quantity: String,
    #[serde(flatten)]
    pub estimate: Estimate,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelTime {
    pub name: String,
    pub launches: u64,
    /// Time of all launches in the untraced run.
    pub native_ns: u64,
    pub traced_ns: u64,
    /// Resources on a multiprocessor in the untraced run; only on a GPU.
    pub native: Option<KernelResources>,
    pub traced: Option<KernelResources>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputRecord {
    /// File name in the program's working folder.
    pub name: String,
    /// SHA-256 of the contents, hexadecimal.
    pub sha256: String,
    /// `shipped`, `mirror`, `downloaded` or `generated`.
    pub origin: String,
}

/// Thread accesses by class. An atomic is neither a load nor a store here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadCounts {
    pub loads: u64,
    pub stores: u64,
    pub atomics: u64,
}

/// Bytes of thread accesses by class; each access, atomic or not, counts once, at its full width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteCounts {
    pub loaded: u64,
    pub stored: u64,
    pub atomic: u64,
}

crate::add_assign!(ThreadCounts: loads, stores, atomics);
crate::add_assign!(ByteCounts: loaded, stored, atomic);

impl ByteCounts {
    /// Returns the bytes loaded and stored, with atomics in both. Saturates: a damaged `run.json` can hold any numbers.
    pub fn with_atomics(&self) -> [u64; 2] {
        [self.loaded, self.stored].map(|bytes| bytes.saturating_add(self.atomic))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSummary {
    /// Demangled name without parameters.
    pub name: String,
    pub launches: u64,
    pub ctas: u64,
    pub loads: u64,
    pub stores: u64,
    pub atomics: u64,
    pub bytes: ByteCounts,
}

crate::add_assign!(KernelSummary: launches, ctas, loads, stores, atomics, bytes);

/// Wall-clock durations in seconds; `null` if not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seconds {
    pub native: Option<f64>,
    pub traced: Option<f64>,
    /// Duration of the counting run.
    pub counted: Option<f64>,
    pub native_kernel: Option<f64>,
    pub traced_kernel: Option<f64>,
    /// Duration of the analysis, including writing its tables.
    pub analysis: Option<f64>,
}

/// Minimum, median and maximum of repeated measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

impl Spread {
    /// Returns the spread of `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let upper = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[upper - 1], sorted[upper])
        } else {
            sorted[upper]
        };
        Some(Self { min, median, max })
    }
}

/// Variation of the durations of repeated runs, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeats {
    /// Number of untraced runs, and of traced runs.
    pub count: u32,
    pub native: Option<Spread>,
    pub traced: Option<Spread>,
    pub native_kernel: Option<Spread>,
    pub traced_kernel: Option<Spread>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Stable name of the check, such as `output-equal` or `counts-equal`.
    pub check: String,
    /// Whether the check passed; also `false` if nothing was compared.
    pub ok: bool,
    /// The numbers that were compared, or the first difference.
    pub detail: String,
    /// Whether the check passed but its detail might indicate a bug in the program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warning: bool,
    /// Reason why nothing was compared; in that case, the check has neither passed nor failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<NotCompared>,
}

impl Check {
    pub fn failed(&self) -> bool {
        !self.ok && self.not_compared.is_none()
    }
}

/// Reason why a result was not compared with the golden one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCompared {
    NoGoldenResult,
    OtherInputs,
    OtherLlvm,
    OtherArchitecture,
    PartialCapture,
}

impl std::fmt::Display for NotCompared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoGoldenResult => "no golden result",
            Self::OtherInputs => "different inputs",
            Self::OtherLlvm => "different LLVM version",
            Self::OtherArchitecture => "different architecture",
            Self::PartialCapture => "partial capture",
        })
    }
}

/// Communication between CTAs over a whole program; `docs/metrics.md` defines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommunicationSummary {
    /// Bytes of all stores and atomics, counting every access.
    pub stored_bytes: u64,
    /// Stored bytes that another CTA or kernel read in a later launch, each counted once.
    pub communicated_bytes: u64,
    /// `communicated_bytes / stored_bytes`, from 0 to 1; 0 if nothing was stored.
    pub share: f64,
    /// Bounds on `communicated_bytes`, if it is not exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communicated_bytes_between: Option<Bounds>,
}

impl CommunicationSummary {
    pub fn new(stored_bytes: u64, communicated_bytes: u64) -> Self {
        Self {
            stored_bytes,
            communicated_bytes,
            share: share(communicated_bytes, stored_bytes),
            communicated_bytes_between: None,
        }
    }

    /// Sets the bounds from an in-situ run.
    pub fn set_bounds(&mut self, total: &VolumeBounds) {
        let between = total.of(|volume| volume.communicated_stored_bytes);
        self.communicated_bytes_between = (!between.is_exact()).then_some(between);
    }

    /// Returns the bounds on `communicated_bytes`, which are equal if it is exact.
    pub fn communicated_between(&self) -> Bounds {
        let exact = Bounds::exactly(self.communicated_bytes);
        self.communicated_bytes_between.unwrap_or(exact)
    }

    /// Formats the communicated bytes, or their bounds, with `show`.
    pub fn communicated_in_words(&self, show: impl Fn(u64) -> String) -> String {
        match self.communicated_bytes_between {
            None => show(self.communicated_bytes),
            // No tighter bound is known.
            Some(between) if between.most >= self.stored_bytes => {
                format!("≥ {}", show(between.least))
            }
            Some(between) => in_words(between, show),
        }
    }

    /// Formats the share, or its bounds, with `show`.
    pub fn share_in_words(&self, show: impl Fn(f64) -> String) -> String {
        match self.communicated_bytes_between {
            None => show(self.share),
            Some(_) => self.communicated_in_words(|bytes| show(share(bytes, self.stored_bytes))),
        }
    }
}

/// Formats a number, or its bounds (`1,234–1,300`), with `show`.
pub fn in_words(between: Bounds, show: impl Fn(u64) -> String) -> String {
    match between.is_exact() {
        true => show(between.least),
        false => format!("{}–{}", show(between.least), show(between.most)),
    }
}

impl From<&Volume> for CommunicationSummary {
    fn from(volume: &Volume) -> Self {
        Self::new(volume.stored_bytes, volume.communicated_stored_bytes)
    }
}

#[cfg(test)]
mod tests;
