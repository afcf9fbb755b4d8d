//! `superstep suite`: builds, runs, verifies and reports a suite.

use clap::ColorChoice;
use serde_json::json;
use superstep_build::failure::Failure;
use superstep_build::installation::Installation;
use superstep_build::manifest::load_suite;

use crate::arguments::reported_run::ReportedRunArgs;
use crate::arguments::{BuildArgs, FetchArgs, SelectArgs, session, start_workers};
use crate::results::counted;
use crate::suite::{SuiteRun, golden_folder};
use crate::terminal::print_lines;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Suite to run: a name in `suites/`, or a folder with a suite.yaml.
    #[arg(value_name = "NAME|DIR", required = true)]
    suite: Option<String>,
    /// List the suites that come with Superstep.
    #[arg(long, exclusive = true)]
    list: bool,
    /// Accept the digests and counts of this run as golden results.
    #[arg(long)]
    bless: bool,
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

fn list() -> Result<i32, Failure> {
    let installation = Installation::find();
    let line = |name: String| {
        let suite = load_suite(&installation.suite(&name))?;
        let programs = counted(suite.benchmarks.len() as u64, "program");
        Ok(format!("{name:<11} {programs:>11}  {}", suite.title))
    };
    let lines: Result<Vec<String>, Failure> = installation.suites().into_iter().map(line).collect();
    print_lines(&lines?)
}

pub fn run(args: Args, color: ColorChoice) -> Result<i32, Failure> {
    let Some(name) = &args.suite else {
        return list();
    };
    let (execute, in_situ) = (&args.run.execute, args.run.in_situ);
    let session = session(None, &args.build, &args.fetch, execute, in_situ)?;
    start_workers(args.build.jobs)?;
    let suite = session.suite(name)?;
    let golden = Some(golden_folder(&suite));
    let options = args.run.options(&session, golden, args.bless)?;
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
    session.prune();
    Ok(args.run.finish(run, &programs, color)?.1)
}
