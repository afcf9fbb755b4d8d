//! `superstep run-bundle`: runs, verifies and reports what a bundle holds.

use std::path::{Path, PathBuf};

use crate::bundle::Bundle;
use crate::results::{Color, Reporter};
use crate::suite::{
    BuildIdentity, Prepared, Progress, Selection, SuiteOptions, run_prepared, select,
};
use superstep_build::compile::BuildOptions;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::manifest::Manifest;

use super::common::{self, ExecuteArgs, FetchArgs, SelectArgs};
use super::running::RunningArgs;

/// Arguments of `superstep run-bundle`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The bundle [default: the folder of this executable].
    #[arg(value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Accept the digests and counts of this run as golden, in the bundle's own folder.
    #[arg(long)]
    bless: bool,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    execute: ExecuteArgs,
    #[command(flatten)]
    running: RunningArgs,
}

/// Runs the command.
pub fn run(args: Args, color: Color) -> Result<i32, Failure> {
    let own = || std::env::current_exe().ok()?.parent().map(Path::to_owned);
    let Some(folder) = args.bundle.or_else(own) else {
        return Err(Failure::new(
            FailureKind::Usage,
            "failed to find the bundle: give its folder",
        ));
    };
    run_folder(
        &folder,
        &args.select,
        &args.fetch,
        &args.execute,
        &args.running,
        args.bless,
        color,
    )
}

/// Runs the bundle in `folder`; with `bless`, its results become the bundle's golden ones.
pub fn run_folder(
    folder: &Path,
    selection: &SelectArgs,
    fetch: &FetchArgs,
    execute: &ExecuteArgs,
    running: &RunningArgs,
    bless: bool,
    color: Color,
) -> Result<i32, Failure> {
    let bundle = Bundle::open(folder)?;
    let suite = Manifest::load_suite(&bundle.suite())?;
    let mut fetch = fetch.options()?;
    if fetch.data_mirror.is_none() && bundle.data().is_dir() {
        fetch.data_mirror = Some(bundle.data());
    }
    let build = BuildOptions {
        gpu_archs: bundle.info.gpu_archs.clone(),
        protocol: bundle.info.protocol.clone(),
        ..BuildOptions::new(bundle.info.backend)
    };
    let mut options: SuiteOptions =
        execute.options_for(selection, build, fetch, Some(bundle.golden()), bless)?;
    options
        .environment
        .retain(|(name, _)| name != "SUPERSTEP_PROTOCOL");
    options.environment.push((
        "SUPERSTEP_PROTOCOL".to_owned(),
        bundle.info.protocol.clone(),
    ));
    if options.selection.is_empty() {
        options.selection = Selection::new(&bundle.info.benchmarks, &[])?;
    }
    options.running = running.running();
    let selected = select(&suite, &options)?;
    let reporter = Reporter::new(execute.message_format);
    let progress = Progress::begin(&suite, &selected, &options, &reporter)?;
    let prepared = selected
        .into_iter()
        .map(|benchmark| Prepared {
            benchmark,
            executables: bundle.executables(&benchmark.name),
            sources: bundle
                .info
                .sources
                .get(&benchmark.name)
                .cloned()
                .unwrap_or_default(),
        })
        .collect();
    let gpu_arch = bundle.info.gpu_archs.iter().copied().min().unwrap_or(0);
    let identity = BuildIdentity {
        llvm: bundle.info.llvm.clone(),
        gpu_arch,
    };
    let (summary, results) =
        run_prepared(&suite, prepared, &options, &identity, &reporter, progress)?;
    running.write(&summary)?;
    Ok(common::conclude(
        &summary,
        &results,
        execute.message_format,
        color,
    ))
}
