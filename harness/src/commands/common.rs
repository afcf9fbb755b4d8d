//! Options that several commands share, and what they mean.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use superstep_analysis::communication::Matching;
use superstep_build::compile::{BuildOptions, DEFAULT_PROTOCOL, Position};
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::fetch::{DownloadLimits, FetchOptions, default_cache_dir};
use superstep_trace::Backend;

use super::metrics::MetricArgs;
use super::record::RecordArgs;
use crate::results::MessageFormat;
use crate::session::Session;
use crate::sizes::parse_bytes;
use crate::suite::{
    AnalysisOptions, Execution, ProgramChoice, Selection, Target, default_analysis_memory_bytes,
};

/// Where kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum BackendChoice {
    /// On a GPU where there is one, else on the CPU.
    #[default]
    Auto,
    /// On the CPU, as x86 code.
    Cpu,
    /// On an NVIDIA GPU.
    Cuda,
}

impl BackendChoice {
    /// The backend, when it is not left open.
    pub fn fixed(self) -> Option<Backend> {
        match self {
            Self::Auto => None,
            Self::Cpu => Some(Backend::Cpu),
            Self::Cuda => Some(Backend::Cuda),
        }
    }
}

/// Where probes go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum PositionChoice {
    /// Right before code generation.
    #[default]
    Late,
    /// Where the thesis put them.
    Early,
}

impl PositionChoice {
    /// Where the probes go in.
    pub fn position(self) -> Position {
        match self {
            Self::Late => Position::Late,
            Self::Early => Position::Early,
        }
    }
}

/// Which benchmarks, and which size of them.
#[derive(Debug, Args)]
pub struct SelectArgs {
    /// Size preset [default: the suite's own].
    #[arg(long, value_name = "NAME")]
    pub size: Option<String>,
    /// Run only benchmarks whose names match one of these globs, separated by commas; `@NAME` stands for a group of the suite's.
    #[arg(long, value_name = "GLOBS")]
    pub only: Vec<String>,
    /// Leave out benchmarks whose names match one of these globs, separated by commas.
    #[arg(long, value_name = "GLOBS")]
    pub exclude: Vec<String>,
}

/// Where sources and inputs come from.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// A local git repository that stands in for the suite's URL.
    #[arg(long, value_name = "DIR")]
    pub source_mirror: Option<PathBuf>,
    /// A local folder that stands in for the suite's data.
    #[arg(long, value_name = "DIR")]
    pub data_mirror: Option<PathBuf>,
    /// Never use the network.
    #[arg(long)]
    pub offline: bool,
}

/// How programs are built.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Where kernels run.
    #[arg(long, value_enum, default_value_t)]
    pub backend: BackendChoice,
    /// GPU architectures to compile for, separated by commas [default: sm_90, and that of the GPU found]; PTX of the lowest is always included.
    #[arg(long, value_name = "ARCHS", value_delimiter = ',', value_parser = parse_arch)]
    pub gpu_arch: Vec<u32>,
    /// Refuse a program with an access whose address space cannot be proven.
    #[arg(long)]
    pub strict: bool,
    /// Let inline PTX pass whose accesses cannot be read from its text, untraced; the result says how much there is.
    #[arg(long)]
    pub allow_opaque_asm: bool,
    /// Also build each program with stock Clang, one command a file, and compare the untraced program with it (CUDA backend).
    #[arg(long)]
    pub plain: bool,
    /// Where in the compilation the probes go in.
    #[arg(long, value_enum, default_value_t)]
    pub at: PositionChoice,
    /// Parallel compilations [default: one a core].
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,
}

/// What communication is matched by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum MatchChoice {
    /// Bytes, exactly.
    #[default]
    Bytes,
    /// Addresses of accesses, whatever their width.
    ExactAddress,
}

impl From<MatchChoice> for Matching {
    fn from(choice: MatchChoice) -> Self {
        match choice {
            MatchChoice::Bytes => Self::Bytes,
            MatchChoice::ExactAddress => Self::ExactAddress,
        }
    }
}

/// How programs are run.
#[derive(Debug, Args)]
pub struct ExecuteArgs {
    /// Folder of all results.
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// Wall time of each run of a program, in seconds [default: the manifest's].
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub timeout: Option<Duration>,
    /// Memory of each run of a program [default: the manifest's, else nine tenths of the machine's].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..1 << 40))]
    pub memory_limit_mib: Option<u64>,
    /// Threads of the CPU backend [default: one a core].
    #[arg(long, value_name = "N")]
    pub cpu_threads: Option<u32>,
    /// Producer-consumer protocol of the CUDA backend.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_PROTOCOL)]
    pub protocol: String,
    /// Bins of the thesis' protocol, a power of two.
    #[arg(long, value_name = "N")]
    pub bins: Option<u32>,
    /// Records of a bin, a power of two.
    #[arg(long, value_name = "N")]
    pub bin_records: Option<u64>,
    #[command(flatten)]
    pub record: RecordArgs,
    /// Form of the messages.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
}

/// How captures are analysed.
#[derive(Debug, Args)]
pub struct AnalyseArgs {
    /// Memory of the analysis, `2GB` for instance; what does not fit goes to temporary files in the results' folder
    /// [default: a quarter of the machine's].
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory_limit: Option<u64>,
    /// What makes a read communication: a byte that another CTA wrote, or an address equal to that of a write, as in the
    /// thesis' figures.
    #[arg(long = "match", value_enum, value_name = "WHAT", default_value_t)]
    pub matching: MatchChoice,
    #[command(flatten)]
    pub metrics: MetricArgs,
    /// Keep the captures (the default).
    #[arg(long, overrides_with = "no_captures")]
    pub keep_captures: bool,
    /// Remove each capture once it is verified and analysed.
    #[arg(long)]
    pub no_captures: bool,
}

/// A GPU architecture, `sm_90` or `90`, as a number.
pub fn parse_arch(text: &str) -> Result<u32, String> {
    let digits = text.trim().strip_prefix("sm_").unwrap_or(text.trim());
    match digits.parse::<u32>() {
        Ok(arch) if (50..1000).contains(&arch) => Ok(arch),
        _ => Err(format!(
            "`{text}` is not a GPU architecture; expected sm_90 or 90"
        )),
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("{text} s is no time to run"))
}

impl FetchArgs {
    /// The options, with the user's cache.
    pub fn options(&self) -> Result<FetchOptions, Failure> {
        Ok(FetchOptions {
            source_mirror: self.source_mirror.clone(),
            data_mirror: self.data_mirror.clone(),
            cache_dir: default_cache_dir()?,
            offline: self.offline,
            download: DownloadLimits::default(),
        })
    }
}

impl SelectArgs {
    pub fn choice(&self) -> Result<ProgramChoice, Failure> {
        Ok(ProgramChoice {
            size: self.size.clone(),
            selection: Selection::new(&self.only, &self.exclude)?,
        })
    }
}

impl BuildArgs {
    /// What these say, for a protocol of the CUDA backend.
    pub fn options(&self, protocol: &str) -> BuildOptions {
        self.options_on(self.backend.fixed(), protocol)
    }

    /// The same for `backend`; `None`: CUDA where there is a GPU, else the CPU.
    pub fn options_on(&self, backend: Option<Backend>, protocol: &str) -> BuildOptions {
        let target = Target::choose(backend, &self.gpu_arch);
        BuildOptions {
            gpu_archs: target.gpu_archs,
            strict: self.strict,
            allow_opaque_asm: self.allow_opaque_asm,
            plain: self.plain,
            position: self.at.position(),
            protocol: protocol.to_owned(),
            ..BuildOptions::new(target.backend)
        }
    }
}

/// Starts the worker threads of the whole process: so many, or one a core.
pub fn start_workers(jobs: Option<usize>) -> Result<(), Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.unwrap_or(0))
        .build_global()
        .map_err(|error| Failure::internal("start the worker threads", error))
}

impl ExecuteArgs {
    /// How the programs of `session` run.
    pub fn execution(&self, session: &Session) -> Result<Execution, Failure> {
        let power = |what: &str, number: Option<u64>| match number {
            Some(number) if !number.is_power_of_two() => Err(Failure::new(
                FailureKind::Usage,
                format!("--{what} takes a power of two, and {number} is not one"),
            )),
            _ => Ok(()),
        };
        power("bins", self.bins.map(u64::from))?;
        power("bin-records", self.bin_records)?;
        let mut execution = Execution {
            timeout: self.timeout,
            memory_limit_bytes: self.memory_limit_mib.map(|mib| mib << 20),
            ..Execution::new(session.backend(), session.fetch.clone())
        };
        execution.set("SUPERSTEP_PROTOCOL", session.build.protocol.clone());
        let optional = [
            ("SUPERSTEP_CPU_THREADS", self.cpu_threads.map(u64::from)),
            ("SUPERSTEP_BINS", self.bins.map(u64::from)),
            ("SUPERSTEP_BIN_RECORDS", self.bin_records),
        ];
        for (name, number) in optional {
            if let Some(number) = number {
                execution.set(name, number.to_string());
            }
        }
        execution.environment.extend(self.record.environment()?);
        Ok(execution)
    }
}

impl AnalyseArgs {
    pub fn options(&self) -> AnalysisOptions {
        AnalysisOptions {
            matching: self.matching.into(),
            metrics: self.metrics.settings(),
            memory_bytes: self.memory_limit.or_else(default_analysis_memory_bytes),
            keep_captures: !self.no_captures,
        }
    }
}
