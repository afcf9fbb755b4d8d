//! `superstep run-bundle`: runs, verifies and reports the programs of a bundle.

use std::path::PathBuf;

use clap::ColorChoice;
use superstep_build::failure::Failure;

use crate::arguments::reported_run::ReportedRunArgs;
use crate::arguments::{FetchArgs, SelectArgs};
use crate::bundle::Bundle;
use crate::session::Session;
use crate::suite::{SuiteRun, golden_folder};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the bundle [default: the folder of this executable].
    #[arg(value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Accept the digests and counts of this run as golden results in the bundle's folder.
    #[arg(long)]
    bless: bool,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    #[command(flatten)]
    run: ReportedRunArgs,
}

pub fn run(args: Args, color: ColorChoice) -> Result<i32, Failure> {
    let bundle = Bundle::open_or_default(args.bundle)?;
    let format = args.run.execute.message_format;
    let mut session = Session::from_bundle(bundle, args.fetch.options()?, format);
    args.run.in_situ.apply(&mut session)?;
    let suite = session.suite("")?;
    let golden = Some(golden_folder(&suite));
    let options = args.run.options(&session, golden, args.bless)?;
    let fetched = session.fetch(&suite, &args.select.choice()?)?;
    let run = SuiteRun::begin(&session, &fetched, &options)?;
    let programs = session.build(&fetched, |_, _| ())?;
    Ok(args.run.finish(run, &programs, color)?.1)
}
