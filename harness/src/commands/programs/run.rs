//! `superstep run`: runs one program the way a suite does.

use std::path::PathBuf;

use clap::ColorChoice;
use superstep_analysis::run_summary::BenchmarkSummary;
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};

use crate::arguments::programs::{is_manifest, one_program};
use crate::arguments::reported_run::ReportedRunArgs;
use crate::arguments::source::SourceArgs;
use crate::arguments::{BuildArgs, FetchArgs, session, start_workers};
use crate::suite::{SuiteRun, golden_folder};
use crate::terminal::print_lines;
use crate::verify;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// CUDA file, executable of a project, or manifest of a benchmark.
    ///
    /// The manifest must be in its suite's folder. Without a program, give a command that starts executables of a
    /// project, such as mpirun or a script, after `--`.
    #[arg(value_name = "PROGRAM", required_unless_present = "args")]
    program: Option<PathBuf>,
    /// Size preset in the manifest.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    size: Option<String>,
    /// Print the commands instead of running them.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    build: BuildArgs,
    #[command(flatten)]
    run: ReportedRunArgs,
}

pub fn run(args: Args, color: ColorChoice) -> Result<i32, Failure> {
    let program = args.program.as_deref();
    let is_manifest = program.is_some_and(is_manifest);
    let (suite, choice) = one_program(program, &args.source, args.size)?;
    start_workers(args.build.jobs)?;
    let execute = &args.run.execute;
    let session = session(None, &args.build, &args.fetch, execute, args.run.in_situ)?;
    let golden = is_manifest.then(|| golden_folder(&suite));
    let options = args.run.options(&session, golden, false)?;
    let fetched = session.fetch(&suite, &choice)?;
    if args.dry_run {
        return print_lines(&session.commands(&fetched)?);
    }
    let programs = session.build(&fetched, |_, _| ())?;
    // Without executables, the build error is the only result.
    for program in &programs {
        program.executables.as_ref().map_err(Clone::clone)?;
    }
    let run = SuiteRun::begin(&session, &fetched, &options)?;
    let (summary, code) = args.run.finish(run, &programs, color)?;
    if code != exit_code::BENCHMARK_FAILED {
        return Ok(code);
    }
    let kind = summary
        .benchmarks
        .iter()
        .find_map(|benchmark| benchmark.failure.as_ref())
        .map_or(FailureKind::Internal, |failure| failure.kind);
    let faulted = |benchmark: &BenchmarkSummary| verify::faulted(&benchmark.verification);
    if !is_manifest
        && !summary.benchmarks.iter().any(faulted)
        && execute.prints_text()
        && let Some(hint) = args.source.hint(kind)
    {
        eprintln!("hint: {hint}");
    }
    Ok(exit_code::of(kind))
}
