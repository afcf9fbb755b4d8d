//! `superstep report`, also `superstep figures`: figures and page of a run, again from its tables, which stay as they are.

use std::path::PathBuf;

use superstep_harness::exit_code;
use superstep_harness::failure::Failure;
use superstep_harness::results::RunFolder;
use superstep_harness::suite::redraw;

/// Arguments of `superstep report`.
#[derive(Debug, clap::Args)]
#[command(visible_alias = "figures")]
pub struct Args {
    /// Folder of a run, `out/thesis/latest` for instance.
    #[arg(value_name = "RUN_DIR")]
    run: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<i32, Failure> {
    let folder = RunFolder::open(&args.run);
    let summary = folder.read_summary()?;
    redraw(&folder, &summary)?;
    println!("report: {}", folder.path().join("index.html").display());
    Ok(exit_code::OK)
}
