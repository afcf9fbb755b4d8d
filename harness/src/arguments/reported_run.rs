//! Options of runs that end in a report, and that end itself.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use superstep_analysis::run_summary::{RunSummary, Status};
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code, interrupt};
use superstep_trace::{Backend, CtaBlocks, Protocol};

use crate::arguments::value::ByteSize;
use crate::arguments::{AnalyseArgs, ExecuteArgs, InSituArgs, MatchChoice};
use crate::results::{
    Color, MessageFormat, RunFolder, in_situ_notes, not_compared, partial_notes, slowdown_table,
    slowdowns, summary_table, warnings, write_junit,
};
use crate::session::Session;
use crate::suite::{Resume, Running, SuiteOptions};

/// How programs run, how often, how they are analysed and reported.
#[derive(Debug, Args)]
pub struct ReportedRunArgs {
    #[command(flatten)]
    pub execute: ExecuteArgs,
    #[command(flatten)]
    pub in_situ: InSituArgs,
    /// Keep transfers between blocks of N CTAs in a row, for grids whose pairs of CTAs find no room on the GPU; N is a power of two.
    #[arg(long, value_name = "N", requires = "in_situ", help_heading = "In situ")]
    cta_blocks: Option<CtaBlocks>,
    /// Limit for shadow memory on each GPU, for example 20GiB [default: what the program leaves, but for a 64th of the
    /// GPU's memory].
    #[arg(
        long,
        value_name = "SIZE",
        requires = "in_situ",
        help_heading = "In situ"
    )]
    shadow_memory: Option<ByteSize>,
    #[command(flatten)]
    analyse: AnalyseArgs,
    #[command(flatten)]
    running: RunningArgs,
}

impl ReportedRunArgs {
    /// The options of a run of the programs of `session`, which is compared with nothing golden.
    pub fn options(&self, session: &Session) -> Result<SuiteOptions, Failure> {
        let in_situ = session.build.protocol == Protocol::InSitu;
        if in_situ && self.analyse.matching != MatchChoice::Bytes {
            bail!(
                Usage,
                "failed to match addresses in situ: that needs a trace; leave out --in-situ or --match"
            );
        }
        let mut execution = self.execute.execution(session)?;
        execution.config.cta_blocks = self.cta_blocks.unwrap_or_default();
        execution.config.shadow_memory = self.shadow_memory.map(|size| size.bytes);
        Ok(SuiteOptions {
            verify_in_situ: session.verify_in_situ,
            execution,
            analysis: self.analyse.options(),
            running: self.running.running(),
            out: self.execute.out.clone(),
            golden: None,
            bless: false,
        })
    }

    /// Prints the table of a run and where its results are, and gives the exit code.
    pub fn conclude(&self, summary: &RunSummary, folder: &RunFolder, color: Color) -> i32 {
        if self.execute.message_format == MessageFormat::Human {
            // A closed pipe must not change the exit code.
            let _ = print(summary, folder, color);
        }
        let failed = |status| status == Status::Failed;
        if interrupt::requested() {
            exit_code::INTERRUPTED
        } else if summary.benchmarks.iter().any(|one| failed(one.status)) {
            exit_code::BENCHMARK_FAILED
        } else {
            exit_code::OK
        }
    }

    /// Writes the JUnit report if `--junit` is given.
    pub fn write_junit(&self, summary: &RunSummary) -> Result<(), Failure> {
        match &self.running.junit {
            Some(path) => write_junit(path, summary),
            None => Ok(()),
        }
    }
}

fn print(summary: &RunSummary, folder: &RunFolder, color: Color) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{}\n", summary_table(summary, color.on_stdout()))?;
    let (partial, compared) = (partial_notes(summary), not_compared(summary));
    let in_situ = in_situ_notes(summary);
    for line in partial
        .iter()
        .chain(&in_situ)
        .chain(&compared)
        .chain(&warnings(summary))
    {
        writeln!(out, "{line}")?;
    }
    if summary.backend == Backend::Cuda {
        let table = slowdown_table(&slowdowns([summary]));
        writeln!(
            out,
            "kernel time, registers and occupancy, untraced > traced:\n{table}\n"
        )?;
    }
    writeln!(out, "results: {}", folder.path().display())?;
    let page = folder.path().join("index.html");
    if page.is_file() {
        writeln!(out, "report:  {}", page.display())?;
    }
    Ok(())
}

/// Continuing, repeating, retrying, and the report for CI.
#[derive(Debug, Args)]
#[command(next_help_heading = "Repeats and reports")]
struct RunningArgs {
    /// Continue the newest run of the suite where it was interrupted, or the run in RUN_DIR. If the newest is complete, a new one
    /// starts.
    #[arg(long, value_name = "RUN_DIR", num_args = 0..=1, require_equals = true)]
    #[expect(
        clippy::option_option,
        reason = "clap's way to tell `--resume` from `--resume=DIR`"
    )]
    resume: Option<Option<PathBuf>>,
    /// Run each untraced and each traced program N times. Times become medians with minimum and maximum; the traces must be equal.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Retry a benchmark up to N times if its program crashes or exceeds its time or memory limit. The result names the failed
    /// attempts.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100))]
    retry: u32,
    /// Fail a benchmark whose result cannot be compared with a golden one: the file is missing, or was made from other inputs or with another LLVM.
    #[arg(long)]
    require_golden: bool,
    /// Also write the results as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl RunningArgs {
    fn running(&self) -> Running {
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
}
