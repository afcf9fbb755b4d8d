//! Options that several commands share, and what they mean.

use std::path::PathBuf;
use std::time::Duration;

use crate::results::{
    Color, MessageFormat, Reporter, RunFolder, not_compared, partial_notes, slowdown_table,
    slowdowns, summary_table, warnings,
};
use crate::sizes::parse_bytes;
use crate::suite::{
    BuildIdentity, Running, Selection, SuiteOptions, Target, default_analysis_memory_bytes,
};
use clap::{Args, ValueEnum};
use superstep_analysis::communication::Matching;
use superstep_build::compile::{
    BuildEvent, BuildOptions, Builder, DEFAULT_PROTOCOL, Position, Program, Toolset,
};
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::fetch::{DownloadLimits, FetchOptions, SourceTree, default_cache_dir};
use superstep_build::installation::Installation;
use superstep_build::manifest::{Benchmark, Suite};
use superstep_report::RunSummary;
use superstep_report::run_summary::Status;
use superstep_toolchain::Toolchain;
use superstep_trace::Backend;

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
    /// Run only benchmarks whose names match one of these globs, parted by commas; `@NAME` stands for a group of the suite's.
    #[arg(long, value_name = "GLOBS")]
    pub only: Vec<String>,
    /// Leave out benchmarks whose names match one of these globs, parted by commas.
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
    /// GPU architectures to compile for, parted by commas [default: sm_90, and that of the GPU found]; PTX of the lowest is always included.
    #[arg(long, value_name = "ARCHS", value_delimiter = ',', value_parser = parse_arch)]
    pub gpu_arch: Vec<u32>,
    /// Refuse a program with an access whose address space cannot be proven.
    #[arg(long)]
    pub strict: bool,
    /// Let inline PTX pass whose accesses cannot be read from its text, untraced; the result says how much there is.
    #[arg(long)]
    pub allow_opaque_asm: bool,
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
    /// Memory of the analysis, `2GB` for instance; what does not fit goes to temporary files in the results' folder
    /// [default: a quarter of the machine's].
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory_limit: Option<u64>,
    /// What makes a read communication: a byte that another CTA wrote, or an address equal to that of a write, as in the
    /// thesis' figures.
    #[arg(long = "match", value_enum, value_name = "WHAT", default_value_t)]
    pub matching: MatchChoice,
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
    pub record: super::record::RecordArgs,
    #[command(flatten)]
    pub metrics: super::metrics::MetricArgs,
    /// Keep the captures (the default).
    #[arg(long, overrides_with = "no_captures")]
    pub keep_captures: bool,
    /// Remove each capture once it is verified and analysed.
    #[arg(long)]
    pub no_captures: bool,
    /// Form of the messages.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
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

impl BuildArgs {
    /// What these say, for a protocol of the CUDA backend.
    pub fn options(&self, protocol: &str) -> BuildOptions {
        BuildOptions {
            allow_opaque_asm: self.allow_opaque_asm,
            ..(self.target()).build_options(self.strict, self.position(), protocol)
        }
    }

    /// Backend and architectures.
    pub fn target(&self) -> Target {
        Target::choose(self.backend.fixed(), &self.gpu_arch)
    }

    /// Where the probes go in.
    pub fn position(&self) -> Position {
        self.at.position()
    }

    /// Sets the number of parallel compilations for the whole process.
    pub fn set_jobs(&self) -> Result<(), Failure> {
        let jobs = self.jobs.unwrap_or(0);
        rayon::ThreadPoolBuilder::new()
            .num_threads(jobs)
            .build_global()
            .map_err(|error| Failure::internal("start the worker threads", error))
    }
}

impl ExecuteArgs {
    /// All options of a run that builds its programs.
    pub fn options(
        &self,
        select: &SelectArgs,
        build: &BuildArgs,
        fetch: FetchOptions,
        golden: Option<PathBuf>,
        bless: bool,
    ) -> Result<SuiteOptions, Failure> {
        let build = build.options(&self.protocol);
        self.options_for(select, build, fetch, golden, bless)
    }

    /// All options of a run of programs that were built with `build`.
    pub fn options_for(
        &self,
        select: &SelectArgs,
        build: BuildOptions,
        fetch: FetchOptions,
        golden: Option<PathBuf>,
        bless: bool,
    ) -> Result<SuiteOptions, Failure> {
        let power = |what: &str, number: Option<u64>| match number {
            Some(number) if !number.is_power_of_two() => Err(Failure::new(
                FailureKind::Usage,
                format!("--{what} takes a power of two, {number} is none"),
            )),
            _ => Ok(()),
        };
        power("bins", self.bins.map(u64::from))?;
        power("bin-records", self.bin_records)?;
        let mut environment = vec![("SUPERSTEP_PROTOCOL".to_owned(), self.protocol.clone())];
        let optional = [
            (
                "SUPERSTEP_CPU_THREADS",
                self.cpu_threads.map(|number| number.to_string()),
            ),
            ("SUPERSTEP_BINS", self.bins.map(|number| number.to_string())),
            (
                "SUPERSTEP_BIN_RECORDS",
                self.bin_records.map(|number| number.to_string()),
            ),
        ];
        environment.extend(
            optional
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?))),
        );
        environment.extend(self.record.environment()?);
        Ok(SuiteOptions {
            size: select.size.clone(),
            selection: Selection::new(&select.only, &select.exclude)?,
            build,
            fetch,
            out: self.out.clone(),
            bless,
            golden,
            timeout: self.timeout,
            memory_limit_bytes: self.memory_limit_mib.map(|mib| mib << 20),
            matching: self.matching.into(),
            metrics: self.metrics.settings(),
            analysis_memory_bytes: self.memory_limit.or_else(default_analysis_memory_bytes),
            keep_captures: !self.no_captures,
            environment,
            running: Running::default(),
            command: std::env::args().collect(),
        })
    }
}

/// The tools, found or reported missing.
pub fn toolchain() -> Result<Toolchain, Failure> {
    Toolchain::locate().map_err(|missing| Failure::new(FailureKind::Tool, missing.to_string()))
}

/// A builder for `options`, which tells `reporter` about each step.
pub fn builder(
    options: &SuiteOptions,
    toolchain: &Toolchain,
    installation: &Installation,
    reporter: &Reporter,
) -> Result<Builder, Failure> {
    let tools = Toolset::new(toolchain, installation)?;
    let reporter = reporter.clone();
    let observer = move |event: BuildEvent<'_>| {
        reporter.doing(format!("building: {} of {}", event.stage, event.subject));
        let fields = serde_json::json!({ "stage": event.stage, "subject": event.subject, "cached": event.cached });
        reporter.message("build-step", fields);
    };
    let cache = options.fetch.cache_dir.join("build");
    Ok(Builder::new(
        tools,
        installation.clone(),
        options.build.clone(),
        cache,
        observer,
    ))
}

/// Lists the commands that would build `benchmarks`.
pub fn print_commands(
    benchmarks: &[&Benchmark],
    sources: Vec<Result<SourceTree, Failure>>,
    builder: Builder,
) -> Result<i32, Failure> {
    let builder = builder.dry();
    for (benchmark, tree) in benchmarks.iter().zip(sources) {
        builder.build(&Program::of_benchmark(benchmark, &tree?.directory))?;
    }
    super::view::print(|out| {
        builder
            .commands()
            .iter()
            .try_for_each(|command| writeln!(out, "{command}"))
    })?;
    Ok(exit_code::OK)
}

/// What identifies what `builder` makes.
pub fn identity(builder: &Builder, toolchain: &Toolchain) -> BuildIdentity {
    let gpu_arch = builder
        .options()
        .gpu_archs
        .iter()
        .copied()
        .min()
        .unwrap_or(0);
    BuildIdentity {
        llvm: toolchain.llvm.version.to_string(),
        gpu_arch,
    }
}

/// Where a suite's golden results are: beside its folder's parent, in the repository.
pub fn golden_folder(installation: &Installation, suite: &Suite) -> Option<PathBuf> {
    let folder = suite.folder.canonicalize().ok()?;
    let suites = folder
        .parent()
        .filter(|parent| parent.file_name().is_some_and(|name| name == "suites"))?;
    let beside = suites.parent()?.join("golden");
    let root = installation.root.as_ref().map(|root| root.join("golden"));
    Some(beside).filter(|folder| folder.is_dir()).or(root)
}

/// Prints the table of a run and where its results are, and gives the exit code.
pub fn conclude(
    summary: &RunSummary,
    folder: &RunFolder,
    format: MessageFormat,
    color: Color,
) -> i32 {
    if format == MessageFormat::Human {
        use std::io::Write;
        let mut out = std::io::stdout().lock();
        // A closed pipe must not change the exit code.
        let _ = writeln!(out, "\n{}\n", summary_table(summary, color.on_stdout()));
        let notes = [
            partial_notes(summary),
            not_compared(summary),
            warnings(summary),
        ];
        for line in notes.into_iter().flatten() {
            let _ = writeln!(out, "{line}");
        }
        if summary.backend == "cuda" {
            let table = slowdown_table(&slowdowns([summary]));
            let _ = writeln!(
                out,
                "kernel time, registers and occupancy, untraced > traced:\n{table}\n"
            );
        }
        let _ = writeln!(out, "results: {}", folder.path().display());
        let page = folder.path().join("index.html");
        if page.is_file() {
            let _ = writeln!(out, "report:  {}", page.display());
        }
    }
    if superstep_build::interrupt::requested() {
        exit_code::INTERRUPTED
    } else if summary
        .benchmarks
        .iter()
        .any(|benchmark| benchmark.status == Status::Failed)
    {
        exit_code::BENCHMARK_FAILED
    } else {
        exit_code::OK
    }
}
