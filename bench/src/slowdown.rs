//! `superstep-bench slowdown`: what tracing costs the kernels of finished runs, with registers and occupancy.

use std::path::PathBuf;

use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_harness::{RunFolder, print, slowdown_table, slowdowns};

use crate::output::JsonArgs;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders of runs (`out/<suite>/latest`) of one or more suites.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    json: JsonArgs,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let runs = args.runs.iter();
    let runs = runs.map(|folder| RunFolder::open(folder).read_summary());
    let all = slowdowns(&runs.collect::<Result<Vec<_>, _>>()?);
    print(|out| {
        writeln!(out, "device: {}", all.devices.join(", "))?;
        writeln!(out, "{}", slowdown_table(&all))
    })?;
    args.json.write(&all)?;
    Ok(exit_code::OK)
}
