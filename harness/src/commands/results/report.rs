//! `superstep report`, also `superstep figures`: redraws a run's figures and page from its tables.

use std::path::PathBuf;

use superstep_build::exit_code;
use superstep_build::failure::Failure;

use crate::results::RunFolder;
use crate::suite::{redraw, reproduction};

#[derive(Debug, clap::Args)]
#[command(visible_alias = "figures")]
pub struct Args {
    /// Folder of a run, for example `out/thesis/latest`.
    #[arg(value_name = "RUN_DIR")]
    run: PathBuf,
    /// Also write reproduction.md and reproduction.json into this folder: published and measured values of the thesis's
    /// figures (the run must use the suite `thesis` at size `thesis`).
    #[arg(long, value_name = "DIR")]
    reproduction: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let folder = RunFolder::open(&args.run);
    let summary = folder.read_summary()?;
    redraw(&folder, &summary)?;
    println!("report: {}", folder.path().join("index.html").display());
    if let Some(into) = &args.reproduction {
        let page = reproduction(&folder, &summary, into)?;
        println!("reproduction: {}", page.display());
    }
    Ok(exit_code::OK)
}
