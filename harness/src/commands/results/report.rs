//! `superstep report`, also `superstep figures`: figures and page of a run, again from its tables; with other choices, where
//! they are given.

use std::path::PathBuf;

use crate::arguments::value::ByteSize;
use crate::results::RunFolder;
use crate::suite::{analysis_memory_bytes, redraw, reproduction, with_density, with_link};
use superstep_build::exit_code;
use superstep_build::failure::Failure;

use crate::arguments::metrics::MetricArgs;

#[derive(Debug, clap::Args)]
#[command(visible_alias = "figures")]
pub struct Args {
    /// Folder of a run, for example `out/thesis/latest`.
    #[arg(value_name = "RUN_DIR")]
    run: PathBuf,
    /// Memory limit for the analysis, which --density-ctas makes again [default: a quarter of the machine's memory].
    #[arg(long, value_name = "SIZE")]
    analysis_memory: Option<ByteSize>,
    /// Also write reproduction.md and reproduction.json into this folder: published and measured values of the thesis's figures (the run must be of the suite and the size `thesis`).
    #[arg(long, value_name = "DIR")]
    reproduction: Option<PathBuf>,
    #[command(flatten)]
    metrics: MetricArgs,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let folder = RunFolder::open(&args.run);
    let summary = folder.read_summary()?;
    if let Some(window) = &args.metrics.density_ctas {
        let memory_bytes = analysis_memory_bytes(args.analysis_memory);
        for note in with_density(&folder, &summary, window, memory_bytes)? {
            eprintln!("note: {note}");
        }
    }
    if let Some(gb_per_s) = args.metrics.link_bandwidth {
        with_link(&folder, &summary, gb_per_s)?;
    }
    redraw(&folder, &summary)?;
    println!("report: {}", folder.path().join("index.html").display());
    if let Some(into) = &args.reproduction {
        let page = reproduction(&folder, &summary, into)?;
        println!("reproduction: {}", page.display());
    }
    Ok(exit_code::OK)
}
