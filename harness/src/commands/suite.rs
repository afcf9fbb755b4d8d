//! `superstep suite`: a whole suite, from its manifest to its report.

use std::path::PathBuf;

use crate::probe::{self, RunOptions};
use crate::results::{Color, MessageFormat, Reporter};
use crate::suite::{
    Prepared, Progress, build_all, fetch_all, redraw, run_prepared, select, source_hashes,
};
use serde_json::json;
use superstep_build::compile::PruneLimits;
use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_build::installation::Installation;
use superstep_build::interrupt;
use superstep_build::manifest::Manifest;
use superstep_build::probe::Probe;
use superstep_report::probes::FOLDER;

use super::common::{self, BuildArgs, ExecuteArgs, FetchArgs, SelectArgs};
use super::run_bundle;
use super::running::RunningArgs;

/// Arguments of `superstep suite`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name of a suite in `suites/`, or a folder with a suite.yaml.
    #[arg(value_name = "NAME|DIR", required_unless_present = "bundle")]
    suite: Option<String>,
    /// Take executables from this bundle instead of building them.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["suite", "dry_run", "bless"])]
    bundle: Option<PathBuf>,
    /// Accept the digests and counts of this run as golden.
    #[arg(long)]
    bless: bool,
    /// Then run the same programs with each of these probes, parted by commas; what they find becomes part of the report.
    #[arg(long, value_name = "PROBES", value_delimiter = ',', conflicts_with_all = ["bundle", "dry_run"])]
    probe: Vec<String>,
    /// Print the commands instead of running them. Sources are fetched nevertheless.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    build: BuildArgs,
    #[command(flatten)]
    execute: ExecuteArgs,
    #[command(flatten)]
    running: RunningArgs,
}

/// Runs the command.
pub fn run(args: Args, color: Color) -> Result<i32, Failure> {
    if let Some(bundle) = &args.bundle {
        return run_bundle::run_folder(
            bundle,
            &args.select,
            &args.fetch,
            &args.execute,
            &args.running,
            false,
            color,
        );
    }
    let installation = Installation::find();
    let suite =
        Manifest::load_suite(&installation.suite(args.suite.as_deref().unwrap_or_default()))?;
    args.build.set_jobs()?;
    let golden = common::golden_folder(&installation, &suite);
    let mut options = args.execute.options(
        &args.select,
        &args.build,
        args.fetch.options()?,
        golden,
        args.bless,
    )?;
    options.running = args.running.running();
    if !args.probe.is_empty() {
        args.execute.record.whole_launches()?;
    }
    let probes: Vec<Probe> = (args.probe.iter())
        .map(|name| Probe::load(name, &installation))
        .collect::<Result<_, _>>()?;
    let selected = select(&suite, &options)?;
    let reporter = Reporter::new(args.execute.message_format);
    reporter.doing("fetching");
    let size = options.size.as_ref().unwrap_or(&suite.default_size);
    let sources = fetch_all(&suite, &selected, size, &options.fetch)?;
    let toolchain = common::toolchain()?;
    let builder = common::builder(&options, &toolchain, &installation, &reporter)?;
    builder.runtime_libraries()?;
    if args.dry_run {
        reporter.finish();
        return common::print_commands(&selected, sources, builder);
    }
    let progress = Progress::begin(&suite, &selected, &options, &reporter)?;
    reporter.doing("building");
    let hashes = source_hashes(&sources);
    let executables = build_all(&selected, sources, &builder, |benchmark, result| {
        let error = result.as_ref().err().map(|failure| failure.message.clone());
        let fields = json!({ "benchmark": benchmark.name, "ok": error.is_none(), "error": error });
        reporter.message("benchmark-built", fields);
    });
    // A cache that cannot be made smaller is no reason not to run.
    if let Err(error) = builder.prune(PruneLimits::default()) {
        reporter.line(&format!("warning: {error}"));
    }
    let prepared = selected
        .into_iter()
        .zip(executables)
        .zip(hashes)
        .map(|((benchmark, executables), sources)| Prepared {
            benchmark,
            executables,
            sources,
        })
        .collect();
    let identity = common::identity(&builder, &toolchain);
    let (summary, folder) =
        run_prepared(&suite, prepared, &options, &identity, &reporter, progress)?;
    args.running.write(&summary)?;
    let mut failed = false;
    for probe in &probes {
        if interrupt::requested() {
            break;
        }
        let programs = super::probe::build(&suite, &options, &builder, probe)?;
        let built = (suite.clone(), options.clone(), programs);
        let place = folder.path().join(FOLDER).join(&probe.spec.name);
        let run = RunOptions {
            keep_threads: false,
            parameters: probe::parameters(probe, &[])?,
            repeat: options.running.repeats,
        };
        let record = super::probe::measure(&built, probe, &run, &place, &reporter)?;
        reporter.finish();
        let found = probe::write_study(&place, &record, Some(&folder))?;
        if args.execute.message_format == MessageFormat::Human {
            super::probe::report(&place, &record, found)?;
        }
        failed |= record.benchmarks.iter().any(|row| row.failure.is_some());
    }
    if !probes.is_empty() {
        redraw(&folder, &summary)?;
    }
    let code = common::conclude(&summary, &folder, args.execute.message_format, color);
    Ok(match code {
        exit_code::OK if failed => exit_code::BENCHMARK_FAILED,
        code => code,
    })
}
