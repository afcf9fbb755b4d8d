//! `superstep-bench slowdown`: what tracing costs the kernels of finished runs, with registers and occupancy.

use std::path::PathBuf;

use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_harness::results::{RunFolder, slowdown_table, slowdowns};

/// Arguments of `superstep-bench slowdown`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders of runs (`out/<suite>/latest`), of one suite or of several.
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Also write everything as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<i32, Failure> {
    let runs = args
        .runs
        .iter()
        .map(|folder| RunFolder::open(folder).read_summary())
        .collect::<Result<Vec<_>, _>>()?;
    let all = slowdowns(&runs);
    superstep_harness::commands::view::print(|out| {
        writeln!(out, "device: {}", all.devices.join(", "))?;
        writeln!(out, "{}", slowdown_table(&all))
    })?;
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&all)
            .map_err(|error| Failure::internal("write JSON", error))?;
        std::fs::write(path, text + "\n")
            .map_err(|error| Failure::internal(format_args!("write {}", path.display()), error))?;
    }
    Ok(exit_code::OK)
}
