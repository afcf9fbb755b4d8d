//! Options of how often benchmarks run, and what is written of it for other programs.

use std::path::PathBuf;

use crate::results::write_junit;
use crate::suite::{Resume, Running};
use clap::Args;
use superstep_build::failure::Failure;
use superstep_report::RunSummary;

/// Continuing, repeating, retrying, and the report for CI.
#[derive(Debug, Args)]
pub struct RunningArgs {
    /// Continue the newest run of the suite where it was interrupted, or the run in RUN_DIR; a new one starts when the newest is complete.
    #[arg(long, value_name = "RUN_DIR", num_args = 0..=1, require_equals = true)]
    #[expect(
        clippy::option_option,
        reason = "clap's way to tell `--resume` from `--resume=DIR`"
    )]
    resume: Option<Option<PathBuf>>,
    /// Run each untraced and each traced program N times: times become medians, with minimum and maximum; what is traced must be the same.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Try a benchmark up to N times again when its program crashes or exceeds its time or memory; the result names the failed attempts.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    retry: u32,
    /// Fail a benchmark whose result cannot be compared with a golden one: the file is missing, or was made from other inputs or with another LLVM.
    #[arg(long)]
    require_golden: bool,
    /// Also write the result as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl RunningArgs {
    /// The options of the run.
    pub fn running(&self) -> Running {
        Running {
            resume: match &self.resume {
                None => Resume::No,
                Some(None) => Resume::Latest,
                Some(Some(folder)) => Resume::Folder(folder.clone()),
            },
            repeats: self.repeat,
            retries: self.retry,
            require_golden: self.require_golden,
        }
    }

    /// Writes what was asked for besides the result folder.
    pub fn write(&self, summary: &RunSummary) -> Result<(), Failure> {
        match &self.junit {
            Some(path) => write_junit(path, summary),
            None => Ok(()),
        }
    }
}
