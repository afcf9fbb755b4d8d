//! `superstep suite`: a whole suite, from its manifest to its report.

use serde_json::json;
use superstep_analysis::run_summary::RunSummary;
use superstep_build::compile::PruneLimits;
use superstep_build::failure::Failure;
use superstep_build::probe::Probe;
use superstep_build::{exit_code, interrupt};
use superstep_report::probes::FOLDER;

use crate::arguments::reported_run::ReportedRunArgs;
use crate::arguments::{BuildArgs, FetchArgs, SelectArgs, session, start_workers};
use crate::probe::{RunOptions, measure, parameters, run_text, write_study};
use crate::results::{Color, MessageFormat, RunFolder};
use crate::session::{Fetched, Session};
use crate::suite::{SuiteOptions, SuiteRun, golden_folder, redraw};
use crate::terminal::{print, print_lines};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Suite to run: a name in `suites/`, or a folder with a suite.yaml.
    #[arg(value_name = "NAME|DIR")]
    suite: String,
    /// Accept the digests and counts of this run as golden.
    #[arg(long)]
    bless: bool,
    /// Afterwards run the same programs with each of these probes (comma-separated); the results become part of the report.
    #[arg(
        long,
        value_name = "PROBES",
        value_delimiter = ',',
        conflicts_with = "dry_run"
    )]
    probe: Vec<String>,
    /// Print the commands instead of running them. Sources are still fetched.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    build: BuildArgs,
    #[command(flatten)]
    run: ReportedRunArgs,
}

pub fn run(args: Args, color: Color) -> Result<i32, Failure> {
    let (execute, in_situ) = (&args.run.execute, args.run.in_situ);
    let session = session(None, &args.build, &args.fetch, execute, in_situ)?;
    start_workers(args.build.jobs)?;
    let suite = session.suite(&args.suite)?;
    let options = SuiteOptions {
        golden: Some(golden_folder(&suite)),
        bless: args.bless,
        ..args.run.options(&session)?
    };
    if !args.probe.is_empty() {
        args.run.execute.record.whole_launches()?;
    }
    let probes: Vec<Probe> = (args.probe.iter())
        .map(|name| session.probe(name))
        .collect::<Result<_, _>>()?;
    let fetched = session.fetch(&suite, &args.select.choice()?)?;
    session.check_tools()?;
    if args.dry_run {
        return print_lines(&session.commands(&fetched)?);
    }
    let run = SuiteRun::begin(&session, &fetched, &options)?;
    let programs = session.build(&fetched, |benchmark, result| {
        let error = result.as_ref().err().map(|failure| failure.message.clone());
        let fields = json!({ "benchmark": benchmark.name, "ok": error.is_none(), "error": error });
        session.reporter.message("benchmark-built", fields);
    })?;
    session.prune(PruneLimits::default());
    let (summary, folder) = run.run(&programs)?;
    args.run.write_junit(&summary)?;
    let failed = add_probes(&session, &fetched, &options, &probes, &summary, &folder)?;
    let code = args.run.conclude(&summary, &folder, color);
    Ok(match code {
        exit_code::OK if failed => exit_code::BENCHMARK_FAILED,
        code => code,
    })
}

/// Runs the programs with each probe, and adds its findings to the report. Returns whether a program failed.
fn add_probes(
    session: &Session,
    fetched: &Fetched<'_>,
    options: &SuiteOptions,
    probes: &[Probe],
    summary: &RunSummary,
    folder: &RunFolder,
) -> Result<bool, Failure> {
    let mut failed = false;
    for probe in probes {
        if interrupt::requested() {
            break;
        }
        let place = folder.path().join(FOLDER).join(&probe.spec.name);
        let run = RunOptions {
            keep_threads: false,
            parameters: parameters(probe, &[])?,
            repeat: options.running.repeats,
        };
        let record = measure(session, fetched, &options.execution, probe, &run, &place)?;
        session.reporter.finish();
        let found = write_study(&place, &record, Some(folder))?;
        if session.reporter.format() == MessageFormat::Human {
            print(|out| writeln!(out, "{}", run_text(&place, &record, found)))?;
        }
        failed |= record.benchmarks.iter().any(|row| row.failure.is_some());
    }
    if !probes.is_empty() {
        redraw(folder, summary)?;
    }
    Ok(failed)
}
