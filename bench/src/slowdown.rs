//! `superstep-bench slowdown`: what tracing costs the kernels of finished runs, with registers and occupancy.

use std::path::PathBuf;

use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_harness::{RunFolder, print, slowdown_table, slowdowns, write_json};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders of runs (`out/<suite>/latest`) of one or more suites.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Also write everything as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let runs = args
        .runs
        .iter()
        .map(|folder| RunFolder::open(folder).read_summary())
        .collect::<Result<Vec<_>, _>>()?;
    let all = slowdowns(&runs);
    print(|out| {
        writeln!(out, "device: {}", all.devices.join(", "))?;
        writeln!(out, "{}", slowdown_table(&all))
    })?;
    if let Some(path) = &args.json {
        write_json(path, &all)?;
    }
    Ok(exit_code::OK)
}
