//! `superstep trends`: plots the numbers of many runs over time.

use std::path::PathBuf;

use superstep_analysis::run_summary::RunSummary;
use superstep_build::exit_code;
use superstep_build::failure::{Failure, chain};
use superstep_report::page::trends;

use crate::results::RunFolder;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders of runs, for example `out/thesis/2*`. Runs of the same suite, size and device are plotted together, in
    /// order of start time.
    #[arg(value_name = "RUN_DIR", required = true)]
    runs: Vec<PathBuf>,
    /// Folder for the page, the figures and their tables.
    #[arg(long, short, value_name = "DIR", default_value = "trends")]
    out: PathBuf,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let runs = args.runs.iter();
    let runs = runs.map(|folder| RunFolder::open(folder).read_summary());
    let runs: Vec<RunSummary> = runs.collect::<Result<_, _>>()?;
    let page = trends::write(&args.out, &runs);
    let page = page.map_err(|error| Failure::internal("draw the trends", chain(&error)))?;
    println!("trends: {}", page.display());
    Ok(exit_code::OK)
}
