//! Options for running a suite.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use superstep_abi::Config;
use superstep_analysis::communication::{Matching, MemoryLimit};
use superstep_analysis::metrics::{CtaWindow, Settings};
use superstep_toolchain::gpu;
use superstep_trace::{Backend, Pattern};

use crate::arguments::value::{self, ByteSize, matching};
use superstep_build::bail;
use superstep_build::compile::DEFAULT_ARCH;
use superstep_build::failure::Failure;
use superstep_build::fetch::FetchOptions;
use superstep_build::manifest::{Benchmark, Suite};

#[derive(Debug, Clone, Default)]
pub struct ProgramChoice {
    /// `None` means the suite's default.
    pub size: Option<String>,
    pub selection: Selection,
    /// Whether the programs are built but not run.
    pub without_inputs: bool,
}

/// Benchmarks that the backend does not support, each with the backend that does.
pub type Unsupported<'a> = Vec<(&'a str, Backend)>;

impl ProgramChoice {
    pub fn one(name: String, size: String) -> Result<Self, Failure> {
        Ok(Self {
            size: Some(size),
            selection: Selection::new(&[name], &[])?,
            without_inputs: false,
        })
    }

    /// Returns the chosen benchmarks of `suite` in order, and separately those that `backend` does not support.
    pub fn of<'a>(
        &self,
        suite: &'a Suite,
        backend: Backend,
    ) -> Result<(Vec<&'a Benchmark>, Unsupported<'a>), Failure> {
        let (mut selected, mut unsupported) = (Vec::new(), Vec::new());
        for benchmark in &suite.benchmarks {
            match benchmark.only_on.filter(|required| *required != backend) {
                _ if !self.selection.contains(&benchmark.name, &suite.groups) => {}
                None => selected.push(benchmark),
                Some(required) => unsupported.push((benchmark.name.as_str(), required)),
            }
        }
        if let (true, [(name, _), ..]) = (selected.is_empty(), &unsupported[..]) {
            bail!(
                Usage,
                "{name} does not support --backend {backend}; choose another backend"
            );
        }
        if selected.is_empty() {
            let names = suite.benchmarks.iter().map(|it| it.name.clone());
            let groups = suite.groups.keys().map(|group| format!("@{group}"));
            let known: Vec<String> = names.chain(groups).collect();
            bail!(
                Usage,
                "no benchmark matches --only and --exclude; the suite has {}",
                known.join(", ")
            );
        }
        let known = selected.iter().flat_map(|benchmark| benchmark.sizes.keys());
        let known: BTreeSet<&str> = known.map(String::as_str).collect();
        match &self.size {
            Some(size) if !known.contains(size.as_str()) => bail!(
                Usage,
                "no selected benchmark has the size `{size}`; the available sizes are {}",
                known.into_iter().collect::<Vec<_>>().join(", ")
            ),
            _ => Ok((selected, unsupported)),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Execution {
    pub backend: Backend,
    pub fetch: FetchOptions,
    /// Wall-time limit; `None` means the manifest's.
    pub timeout: Option<Duration>,
    /// Limit on resident memory; `None` means the manifest's, or nine tenths of the machine's memory.
    pub memory_limit_bytes: Option<u64>,
    pub config: Config,
    /// Time after which a run that writes a capture is killed.
    pub kill_after: Option<Duration>,
}

impl Execution {
    pub fn new(backend: Backend, fetch: FetchOptions) -> Self {
        Self {
            backend,
            fetch,
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Analysis")]
pub struct AnalysisOptions {
    /// Memory limit for the analysis, for example 2GB; anything that does not fit goes to temporary files in the
    /// results folder [default: a quarter of the machine's memory].
    #[arg(long, value_name = "SIZE")]
    pub analysis_memory: Option<ByteSize>,
    /// Condition under which a read counts as communication.
    #[arg(long = "match", value_name = "WHAT", default_value = "bytes", value_parser = matching())]
    pub matching: Matching,
    /// Remove each capture after it is verified and analysed.
    #[arg(long)]
    pub no_captures: bool,
    #[command(flatten)]
    pub metrics: MetricArgs,
}

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Tables and figures")]
pub struct MetricArgs {
    /// Draw an additional density map of these CTAs (numbered by x, then y, then z): FIRST-LAST or SOURCES:RECEIVERS,
    /// for example 100-299 or 4000-4199:0-63. Beyond 200 CTAs per axis, multiple CTAs share a cell.
    #[arg(long, value_name = "RANGE", value_parser = CtaWindow::parse)]
    density_ctas: Option<CtaWindow>,
    /// Bandwidth of a GPU's link in one direction, in GB/s (10^9 bytes), for the multi-GPU model [default: 450, NVLink
    /// 4].
    #[arg(long, value_name = "GB/S", value_parser = value::bandwidth)]
    link_bandwidth: Option<f64>,
}

impl MetricArgs {
    pub fn settings(&self) -> Settings {
        let default = Settings::default();
        Settings {
            density: self.density_ctas.clone(),
            link_gb_per_s: self.link_bandwidth.unwrap_or(default.link_gb_per_s),
        }
    }
}

#[derive(Debug, Clone)]
pub struct SuiteOptions {
    pub execution: Execution,
    pub analysis: AnalysisOptions,
    pub running: Running,
    pub out: PathBuf,
    /// Folder of golden results; `None` means no comparison.
    pub golden: Option<PathBuf>,
    pub bless: bool,
}

#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Repeats and reports")]
pub struct Running {
    /// Resume the newest interrupted run, or the run in RUN_DIR.
    ///
    /// If the newest run is complete, start a new one.
    #[arg(long, value_name = "RUN_DIR", num_args = 0..=1, require_equals = true)]
    pub resume: Option<Option<PathBuf>>,
    /// Run each program N times.
    ///
    /// Times are reported as median, minimum and maximum; the traces must be identical.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Retry a benchmark up to N times if its program crashes or exceeds its time or memory limit. The result lists the
    /// failed attempts.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub retry: u32,
    /// Fail a benchmark whose result cannot be compared with a golden result: the golden file is missing, or was
    /// created from different inputs or with a different LLVM version.
    #[arg(long)]
    pub require_golden: bool,
    /// Also write the results as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

#[derive(Debug, Clone, Default)]
pub struct Selection {
    only: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl Selection {
    /// Selects names that match a pattern in `only` (all if it is empty) and none in `exclude`. Each string is a
    /// comma-separated list of patterns; `@NAME` selects the members of a group.
    pub fn new(only: &[String], exclude: &[String]) -> Result<Self, Failure> {
        Ok(Self {
            only: patterns(only)?,
            exclude: patterns(exclude)?,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.only.is_empty() && self.exclude.is_empty()
    }

    pub fn contains(&self, name: &str, groups: &BTreeMap<String, Vec<String>>) -> bool {
        let groups = groups.iter();
        let own = groups.filter(|(_, members)| members.iter().any(|member| member == name));
        let own: Vec<String> = own.map(|(group, _)| format!("@{group}")).collect();
        let matches = |pattern: &Pattern| match pattern.matches_groups() {
            true => own.iter().any(|group| pattern.matches(group)),
            false => pattern.matches(name),
        };
        let is_selected = self.only.is_empty() || self.only.iter().any(matches);
        is_selected && !self.exclude.iter().any(matches)
    }
}

fn patterns(texts: &[String]) -> Result<Vec<Pattern>, Failure> {
    let lists = texts.iter().map(|text| Pattern::parse_list(text));
    match lists.collect::<Result<Vec<_>, _>>() {
        Ok(lists) => Ok(lists.concat()),
        Err(error) => bail!(Usage, "{error}"),
    }
}

/// Returns the backend and the architectures to build for. The default backend is CUDA if there is a GPU, otherwise the
/// CPU; the default architectures are sm_90 and the GPU's. Device IR is compiled for the lowest architecture, so that a
/// newer GPU runs the same code as the CPU backend.
pub fn choose_target(backend: Option<Backend>, archs: &[u32]) -> (Backend, Vec<u32>) {
    let found = match backend {
        Some(Backend::Cpu) => None,
        _ => local_gpu_arch(),
    };
    let present = found.map_or(Backend::Cpu, |_| Backend::Cuda);
    let archs = match archs {
        [] => default_archs(found),
        chosen => chosen.to_vec(),
    };
    (backend.unwrap_or(present), archs)
}

/// Returns the architecture of the first GPU, such as 90 for sm_90.
pub fn local_gpu_arch() -> Option<u32> {
    let (major, minor) = gpu::detect().devices.first()?.compute_capability;
    Some(major * 10 + minor)
}

fn default_archs(found: Option<u32>) -> Vec<u32> {
    match found {
        Some(arch) if arch < DEFAULT_ARCH => vec![arch],
        Some(arch) if arch > DEFAULT_ARCH => vec![DEFAULT_ARCH, arch],
        _ => vec![DEFAULT_ARCH],
    }
}

/// Returns the memory limit of the analysis, by default a quarter of the machine's memory.
pub fn memory_limit(configured: Option<ByteSize>, spill_into: &Path) -> MemoryLimit {
    let default = || machine_bytes().map_or(u64::MAX, |bytes| bytes / 4);
    MemoryLimit {
        bytes: configured.map_or_else(default, |size| size.bytes),
        spill_into: spill_into.to_owned(),
    }
}

pub(super) fn machine_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let mut lines = text.lines();
    let total = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests;
