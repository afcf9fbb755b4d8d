//! `superstep probe`: a program or a suite with a probe, from its definition to its tables.

use std::path::{Path, PathBuf};

use crate::bundle::Bundle;
use crate::probe::{self, ProbeRun, ProbedBenchmark, RUN_SCHEMA_VERSION, RunOptions};
use crate::results::Reporter;
use crate::suite::{Case, Selection, SourceHashes, SuiteOptions, fetch_all, select};
use rayon::prelude::*;
use superstep_build::compile::{BuildOptions, Builder, ProbedExecutables, Program};
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::installation::Installation;
use superstep_build::interrupt;
use superstep_build::manifest::{Manifest, Suite};
use superstep_build::probe::Probe;

use super::common::{self, BuildArgs, ExecuteArgs, FetchArgs, SelectArgs};
use super::program::program_suite;
use super::source::SourceArgs;

/// Arguments of `superstep probe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Probes, parted by commas, which run one after the other: a YAML file each, or the name of one that comes with Superstep: basic-blocks, branches, cta-clocks,
    /// instruction-mix, memory-divergence, values.
    #[arg(value_name = "PROBE")]
    probe: String,
    #[command(flatten)]
    programs: ProgramArgs,
    /// Take the programs from this bundle instead of building them.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Run each program so many times without and with the probe, and take the shortest times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Sets a parameter of the probe.
    #[arg(long, value_name = "NAME=NUMBER")]
    set: Vec<String>,
    /// Keep the fields of every single thread (`per: thread`).
    #[arg(long)]
    keep_threads: bool,
}

/// Arguments of commands that take a program or those of a suite: which, and how they are built and run.
#[derive(Debug, clap::Args)]
pub struct ProgramArgs {
    /// The program; the name of a suite instead of a file takes its programs.
    #[arg(value_name = "PROG.cu|BENCHMARK.yaml|SUITE")]
    pub program: PathBuf,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    #[command(flatten)]
    pub fetch: FetchArgs,
    #[command(flatten)]
    pub build: BuildArgs,
    #[command(flatten)]
    pub execute: ExecuteArgs,
}

impl ProgramArgs {
    /// What says which programs are meant; a program by itself narrows the selection down to it.
    pub fn request(&mut self) -> Request<'_> {
        Request {
            program: &self.program,
            source: &self.source,
            select: &mut self.select,
            fetch: &self.fetch,
            build: &self.build,
            execute: &self.execute,
        }
    }
}

/// Runs the command: each probe by itself, since the code of one would be measured by another.
pub fn run(mut args: Args) -> Result<i32, Failure> {
    args.programs.execute.record.whole_launches()?;
    args.programs.build.set_jobs()?;
    let probes = std::mem::take(&mut args.probe);
    let select = &args.programs.select;
    let (only, size) = (select.only.clone(), select.size.clone());
    let mut code = exit_code::OK;
    for probe in probes.split(',') {
        // The run before has narrowed them down to its program.
        let select = &mut args.programs.select;
        select.only.clone_from(&only);
        select.size.clone_from(&size);
        let this = one(&mut args, probe)?;
        if code == exit_code::OK {
            code = this;
        }
        if interrupt::requested() {
            break;
        }
    }
    Ok(code)
}

fn one(args: &mut Args, name: &str) -> Result<i32, Failure> {
    let installation = Installation::find();
    let bundle = args.bundle.as_deref().map(Bundle::open).transpose()?;
    let probe = match &bundle {
        Some(bundle) => Probe::load(&bundle.probe(name).to_string_lossy(), &installation)?,
        None => Probe::load(name, &installation)?,
    };
    let run = RunOptions {
        keep_threads: args.keep_threads,
        parameters: probe::parameters(&probe, &args.set)?,
        repeat: args.repeat,
    };
    let reporter = Reporter::new(args.programs.execute.message_format);
    let mut request = args.programs.request();
    let (suite, options, programs) = match &bundle {
        Some(bundle) => from_bundle(&mut request, bundle, &probe.spec.name)?,
        None => built(request, &installation, &probe, &reporter)?,
    };
    let folder = options.out.join("probes").join(&probe.spec.name);
    let folder = folder.join(&suite.name);
    let built = (suite, options, programs);
    let record = measure(&built, &probe, &run, &folder, &reporter)?;
    reporter.finish();
    let study = probe::write_study(&folder, &record, None)?;
    report(&folder, &record, study)?;
    let failed: Vec<_> = (record.benchmarks.iter())
        .filter_map(|record| record.failure.as_ref())
        .collect();
    Ok(match failed[..] {
        _ if interrupt::requested() => exit_code::INTERRUPTED,
        [] => exit_code::OK,
        [only] if record.benchmarks.len() == 1 => only.kind.exit_code(),
        _ => exit_code::BENCHMARK_FAILED,
    })
}

/// Prints what a probe found and what it cost.
pub fn report(folder: &Path, record: &ProbeRun, study: Option<String>) -> Result<(), Failure> {
    super::view::print(|out| {
        if let Some(study) = study {
            writeln!(out, "{study}\n")?;
        }
        writeln!(out, "{}", probe::run_table(record))?;
        writeln!(out, "results: {}", folder.display())
    })
}

/// Runs programs without and with a probe into `folder`, and writes down what each cost.
pub fn measure(
    (suite, options, programs): &Programs,
    probe: &Probe,
    run: &RunOptions,
    folder: &Path,
    reporter: &Reporter,
) -> Result<ProbeRun, Failure> {
    let size = options.size.clone().unwrap_or(suite.default_size.clone());
    let mut record = begin(probe, suite, &size, options);
    for (name, executables) in programs {
        if interrupt::requested() {
            break;
        }
        let Some(benchmark) = suite.benchmark(name) else {
            continue;
        };
        reporter.doing(format!("running {name}"));
        let (row, device) = match (executables, benchmark.sizes.get(&size)) {
            (Ok(executables), Some(size)) => {
                let case = Case {
                    suite,
                    benchmark,
                    size,
                    options,
                    sources: &SourceHashes::new(),
                };
                probe::run_benchmark(&case, executables, run, &folder.join(name))
            }
            (executables, _) => {
                let message = format!("failed to run {name}: it has no size {size}");
                let missing = Failure::new(FailureKind::Usage, message);
                let failed = ProbedBenchmark {
                    failure: Some(executables.clone().err().unwrap_or(missing)),
                    name: name.clone(),
                    ..ProbedBenchmark::default()
                };
                (failed, None)
            }
        };
        if let Some(failure) = &row.failure {
            reporter.line(&format!("error: {failure}"));
        }
        record.benchmarks.push(row);
        if let Some(device) = device {
            record.device = device;
        }
        probe::write_run(folder, &record)?;
    }
    Ok(record)
}

/// What of the command line says which programs are probed.
pub struct Request<'a> {
    /// The program, or a suite's name.
    pub program: &'a Path,
    /// What belongs to the program.
    pub source: &'a SourceArgs,
    /// Which of the suite.
    pub select: &'a mut SelectArgs,
    /// Where sources come from.
    pub fetch: &'a FetchArgs,
    /// How they are built.
    pub build: &'a BuildArgs,
    /// How they run.
    pub execute: &'a ExecuteArgs,
}

/// A program's name and its executables.
pub type Built = (String, Result<ProbedExecutables, Failure>);

/// A suite, how to run it, and its programs.
pub type Programs = (Suite, SuiteOptions, Vec<Built>);

/// The programs of a bundle, without and with the probe of that name.
pub fn from_bundle(
    request: &mut Request<'_>,
    bundle: &Bundle,
    probe: &str,
) -> Result<Programs, Failure> {
    let suite = Manifest::load_suite(&bundle.suite())?;
    let mut fetch = request.fetch.options()?;
    if fetch.data_mirror.is_none() && bundle.data().is_dir() {
        fetch.data_mirror = Some(bundle.data());
    }
    let build = BuildOptions::new(bundle.info.backend);
    let mut options = (request.execute).options_for(request.select, build, fetch, None, false)?;
    if options.selection.is_empty() {
        options.selection = Selection::new(&bundle.info.benchmarks, &[])?;
    }
    let programs = select(&suite, &options)?
        .into_iter()
        .map(|benchmark| {
            let name = benchmark.name.clone();
            let found = bundle.probed(&name, probe);
            (name, found)
        })
        .collect();
    Ok((suite, options, programs))
}

/// Builds programs without and with `probe`.
pub fn built(
    mut request: Request<'_>,
    installation: &Installation,
    probe: &Probe,
    reporter: &Reporter,
) -> Result<Programs, Failure> {
    let suite = suite(&mut request, installation)?;
    let fetch = request.fetch.options()?;
    let execute = request.execute;
    let options = execute.options(request.select, request.build, fetch, None, false)?;
    let toolchain = common::toolchain()?;
    let builder = common::builder(&options, &toolchain, installation, reporter)?;
    let programs = build(&suite, &options, &builder, probe)?;
    Ok((suite, options, programs))
}

/// Builds the programs of `suite` that are selected, without and with `probe`.
pub fn build(
    suite: &Suite,
    options: &SuiteOptions,
    builder: &Builder,
    probe: &Probe,
) -> Result<Vec<Built>, Failure> {
    let selected = select(suite, options)?;
    let size = options.size.as_ref().unwrap_or(&suite.default_size);
    let sources = fetch_all(suite, &selected, size, &options.fetch)?;
    builder.runtime_libraries()?;
    Ok(selected
        .par_iter()
        .zip(sources)
        .map(|(benchmark, tree)| {
            let built = tree.and_then(|tree| {
                let program = Program::of_benchmark(benchmark, &tree.directory);
                Ok(builder.build_probed(&program, probe)?)
            });
            (benchmark.name.clone(), built)
        })
        .collect())
}

/// The suite that the program is in, or that it names.
pub fn suite(request: &mut Request<'_>, installation: &Installation) -> Result<Suite, Failure> {
    let name = request.program.to_string_lossy().into_owned();
    let folder = installation.suite(&name);
    if !request.program.is_file() && folder.join("suite.yaml").is_file() {
        return Ok(Manifest::load_suite(&folder)?);
    }
    let (suite, name, size) =
        program_suite(request.program, request.source, request.select.size.clone())?;
    request.select.only = vec![name];
    request.select.size = Some(size);
    Ok(suite)
}

fn begin(probe: &Probe, suite: &Suite, size: &str, options: &SuiteOptions) -> ProbeRun {
    ProbeRun {
        schema_version: RUN_SCHEMA_VERSION,
        probe: probe.spec.name.clone(),
        title: probe.spec.title.clone(),
        suite: suite.name.clone(),
        size: size.to_owned(),
        backend: options.build.backend.to_string(),
        device: String::new(),
        started: jiff::Timestamp::now().to_string(),
        command: options.command.clone(),
        benchmarks: Vec::new(),
    }
}
