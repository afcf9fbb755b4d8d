//! Options shared by multiple commands.

pub mod programs;
pub mod record;
pub mod reported_run;
pub mod source;
pub mod value;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use superstep_abi::Config;
use superstep_build::bail;
use superstep_build::compile::BuildOptions;
use superstep_build::failure::Failure;
use superstep_build::fetch::{DownloadLimits, FetchOptions, default_cache_dir};
use superstep_trace::{Backend, Protocol};

use self::record::RecordArgs;
use self::value::{BackendChoice, ByteSize};
use crate::bundle::Bundle;
use crate::results::MessageFormat;
use crate::session::Session;
use crate::suite::{Execution, ProgramChoice, Selection, choose_target};

#[derive(Debug, Args)]
#[command(next_help_heading = "Choosing benchmarks")]
pub struct SelectArgs {
    /// Size preset [default: the suite's].
    #[arg(long, value_name = "NAME")]
    pub size: Option<String>,
    #[command(flatten)]
    pub patterns: PatternArgs,
}

#[derive(Debug, Args)]
pub struct PatternArgs {
    /// Benchmarks to run: globs, `regex:EXPR`, `@GROUP`, comma-separated.
    #[arg(long, value_name = "PATTERNS")]
    only: Vec<String>,
    /// Exclude benchmarks that match one of these patterns.
    #[arg(long, value_name = "PATTERNS")]
    exclude: Vec<String>,
}

impl PatternArgs {
    /// Returns a choice of the matching programs in the suite's default size, without their inputs.
    pub fn choice(&self) -> Result<ProgramChoice, Failure> {
        Ok(ProgramChoice {
            size: None,
            selection: Selection::new(&self.only, &self.exclude)?,
            without_inputs: true,
        })
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Sources and inputs")]
pub struct FetchArgs {
    /// Local git repository to use instead of the suite's source URL.
    #[arg(long, value_name = "DIR")]
    pub source_mirror: Option<PathBuf>,
    /// Local folder to use instead of the suite's data URL.
    #[arg(long, value_name = "DIR")]
    pub data_mirror: Option<PathBuf>,
    /// Never use the network.
    #[arg(long)]
    pub offline: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Building")]
pub struct BuildArgs {
    /// Backend that runs the kernels.
    #[arg(long, default_value = "auto", hide_default_value = true, value_parser = value::backend())]
    pub backend: BackendChoice,
    /// GPU architectures to compile for, comma-separated; also `-arch=sm_90`. PTX for the lowest is always included
    /// [default: sm_90, and this machine's GPU if it is newer; only this machine's GPU if it is older].
    #[arg(long, value_name = "ARCHS", value_delimiter = ',', value_parser = value::gpu_arch)]
    pub gpu_arch: Vec<u32>,
    /// Reject programs with accesses whose address space cannot be proven.
    #[arg(long)]
    pub strict: bool,
    /// Accept inline PTX whose accesses cannot be determined from its text. It is not traced; the results report how
    /// much there is.
    #[arg(long)]
    pub allow_opaque_asm: bool,
    /// Also build each program with nvcc, on the machine that runs it, and compare what the untraced program prints and
    /// writes (CUDA backend).
    #[arg(long)]
    pub nvcc: bool,
    /// Number of parallel compilations [default: one per core].
    ///
    /// Also the number of parallel runs of `inject` [default on a GPU: 4].
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct ExecuteArgs {
    /// Folder for all results.
    #[arg(long, short, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// Time limit for each run, in seconds [default: the manifest's].
    #[arg(long, value_name = "SECONDS", value_parser = value::seconds)]
    pub timeout: Option<Duration>,
    /// Memory limit for each run of a program, for example 8GiB [default: the manifest's, or nine tenths of the
    /// machine's].
    #[arg(long, value_name = "SIZE")]
    pub program_memory: Option<ByteSize>,
    /// Number of threads for the CPU backend [default: one per core].
    #[arg(long, value_name = "N")]
    pub cpu_threads: Option<NonZeroUsize>,
    /// Protocol that transfers records from the GPU to the host.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = protocol())]
    pub protocol: Protocol,
    /// Print the results as one JSON document instead of text.
    #[arg(long, conflicts_with = "message_format")]
    pub json: bool,
    /// Format of messages printed while programs run.
    #[arg(long, value_enum, default_value_t)]
    pub message_format: MessageFormat,
    #[command(flatten)]
    pub record: RecordArgs,
}

#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "In situ")]
pub struct InSituArgs {
    /// Add up accesses while kernels run instead of recording them.
    ///
    /// For programs whose traces are too large.
    #[arg(long, conflicts_with = "protocol")]
    pub in_situ: bool,
    /// Also trace each program, and compare all volumes, flows and transfers with the trace.
    #[arg(long, requires = "in_situ")]
    pub verify_in_situ: bool,
}

impl InSituArgs {
    /// Configures `session`. Fails for a bundle whose programs can only record accesses.
    pub fn apply(self, session: &mut Session) -> Result<(), Failure> {
        if !self.in_situ {
            return Ok(());
        }
        let built = session.build.protocol;
        let is_fixed = session.bundle.is_some() && session.build.backend == Backend::Cuda;
        if is_fixed && built != Protocol::InSitu {
            bail!(
                Usage,
                "failed to run the bundle in situ: its programs were built for --protocol {built}; build it again with --in-situ"
            );
        }
        session.build.protocol = Protocol::InSitu;
        session.verify_in_situ = self.verify_in_situ;
        Ok(())
    }
}

pub fn protocol() -> impl TypedValueParser<Value = Protocol> {
    // `in-situ` has its own option.
    let recording = Protocol::ALL
        .into_iter()
        .filter(|protocol| *protocol != Protocol::InSitu);
    PossibleValuesParser::new(recording.map(Protocol::name))
        .try_map(|name| name.parse::<Protocol>())
}

impl FetchArgs {
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
            without_inputs: false,
            ..self.patterns.choice()?
        })
    }
}

impl BuildArgs {
    /// Returns the build options for `backend`; `None` means CUDA if there is a GPU, else the CPU.
    pub fn options(&self, backend: Option<Backend>, protocol: Protocol) -> BuildOptions {
        let (backend, gpu_archs) = choose_target(backend, &self.gpu_arch);
        BuildOptions {
            gpu_archs,
            strict: self.strict,
            allow_opaque_asm: self.allow_opaque_asm,
            reference: self.nvcc,
            protocol,
            ..BuildOptions::new(backend)
        }
    }
}

pub fn session(
    bundle: Option<&Path>,
    build: &BuildArgs,
    fetch: &FetchArgs,
    execute: &ExecuteArgs,
    in_situ: InSituArgs,
) -> Result<Session, Failure> {
    let (fetch, format) = (fetch.options()?, execute.message_format);
    let mut session = match bundle {
        Some(folder) => Session::from_bundle(Bundle::open(folder)?, fetch, format),
        None => {
            let options = build.options(build.backend.0, execute.protocol);
            Session::new(options, fetch, format)
        }
    };
    in_situ.apply(&mut session)?;
    Ok(session)
}

pub fn start_workers(jobs: Option<usize>) -> Result<(), Failure> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(jobs.unwrap_or(0))
        .build_global()
        .map_err(|error| Failure::internal("start the worker threads", error))
}

impl ExecuteArgs {
    pub fn prints_text(&self) -> bool {
        !self.json && self.message_format == MessageFormat::Human
    }

    pub fn execution(&self, session: &Session) -> Result<Execution, Failure> {
        let config = Config {
            protocol: Some(session.build.protocol),
            cpu_threads: self.cpu_threads,
            selection: self.record.selection()?,
            ..Config::default()
        };
        Ok(Execution {
            config,
            timeout: self.timeout,
            memory_limit_bytes: self.program_memory.map(|size| size.bytes),
            ..Execution::new(session.build.backend, session.fetch.clone())
        })
    }
}
