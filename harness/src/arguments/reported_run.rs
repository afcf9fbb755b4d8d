//! Options for runs that produce a report, and functions that print their results.

use std::io::Write;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ColorChoice};
use superstep_analysis::communication::Matching;
use superstep_analysis::run_summary::{Check, RunSummary, Status};
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code, interrupt};
use superstep_trace::{Backend, CtaBlocks, Protocol};

use crate::arguments::value::ByteSize;
use crate::arguments::{ExecuteArgs, InSituArgs};
use crate::results::{
    RunFolder, card, is_coloured, note_lines, slowdown_table, summary_table, write_junit,
};
use crate::session::{Prepared, Session};
use crate::suite::{AnalysisOptions, Running, SuiteOptions, SuiteRun};
use crate::terminal;

/// Checks that can pass with a warning.
const WARNING_CHECKS: &str = "counts-equal in-situ-equal initialised-reads inside-allocations kernel-launches nvcc-build \
    output-equal shared-memory";

#[derive(Debug, Args)]
pub struct ReportedRunArgs {
    #[command(flatten)]
    pub execute: ExecuteArgs,
    #[command(flatten)]
    pub in_situ: InSituArgs,
    /// Count transfers between blocks of N consecutive CTAs, for grids with too many pairs of CTAs for the GPU's
    /// memory; N is a power of two.
    #[arg(long, value_name = "N", requires = "in_situ", help_heading = "In situ")]
    cta_blocks: Option<CtaBlocks>,
    /// Limit for shadow memory on each GPU, for example 20GiB [default: what the program leaves free, minus 1/64 of the
    /// GPU's memory].
    #[arg(
        long,
        value_name = "SIZE",
        requires = "in_situ",
        help_heading = "In situ"
    )]
    shadow_memory: Option<ByteSize>,
    /// Fail with exit code 12 on any warning, or only on warnings from CHECKS.
    ///
    /// The checks, separated by commas: counts-equal, in-situ-equal, initialised-reads, inside-allocations,
    /// kernel-launches, nvcc-build, output-equal, shared-memory.
    #[arg(
        long,
        value_name = "CHECKS",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(WARNING_CHECKS.split(' ')),
        hide_possible_values = true,
        help_heading = "Repeats and reports"
    )]
    fail_on_warning: Option<Vec<String>>,
    #[command(flatten)]
    analysis: AnalysisOptions,
    #[command(flatten)]
    running: Running,
}

impl ReportedRunArgs {
    /// Returns the options for a run of `session`'s programs; `golden` is the folder of their golden results.
    pub fn options(
        &self,
        session: &Session,
        golden: Option<PathBuf>,
        bless: bool,
    ) -> Result<SuiteOptions, Failure> {
        let in_situ = session.build.protocol == Protocol::InSitu;
        if in_situ && self.analysis.matching != Matching::Bytes {
            bail!(
                Usage,
                "failed to match addresses in situ: that needs a trace; remove --in-situ or --match"
            );
        }
        let mut execution = self.execute.execution(session)?;
        execution.config.cta_blocks = self.cta_blocks.unwrap_or_default();
        execution.config.shadow_memory = self.shadow_memory.map(|size| size.bytes);
        Ok(SuiteOptions {
            execution,
            analysis: self.analysis.clone(),
            running: self.running.clone(),
            out: self.execute.out.clone(),
            golden,
            bless,
        })
    }

    /// Runs the programs and reports the results. Returns them with the exit code.
    pub fn finish(
        &self,
        run: SuiteRun<'_>,
        programs: &[Prepared<'_>],
        color: ColorChoice,
    ) -> Result<(RunSummary, i32), Failure> {
        let (summary, folder) = run.run(programs)?;
        if let Some(path) = &self.running.junit {
            write_junit(path, &summary)?;
        }
        // A closed pipe must not change the exit code.
        if self.execute.json {
            let _ = terminal::print_json(&summary);
        } else if self.execute.prints_text() {
            let _ = print(&summary, &folder, color);
        }
        let failed = |status| status == Status::Failed;
        let fails = |check: &Check| {
            let names = self.fail_on_warning.as_ref().filter(|_| check.warning);
            names.is_some_and(|names| names.is_empty() || names.contains(&check.check))
        };
        let mut checks = (summary.benchmarks.iter()).flat_map(|entry| &entry.verification);
        let code = if interrupt::requested() {
            exit_code::INTERRUPTED
        } else if summary.benchmarks.iter().any(|entry| failed(entry.status)) {
            exit_code::BENCHMARK_FAILED
        } else if checks.any(fails) {
            exit_code::WARNING
        } else {
            exit_code::OK
        };
        Ok((summary, code))
    }
}

fn print(summary: &RunSummary, folder: &RunFolder, color: ColorChoice) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let (color, width) = (is_coloured(color), terminal::width());
    writeln!(out)?;
    if summary.backend == Backend::Cuda {
        let table = slowdown_table(summary, width);
        writeln!(
            out,
            "kernel time, registers and occupancy, untraced > traced:\n{table}\n"
        )?;
    }
    if let [benchmark] = &summary.benchmarks[..] {
        return writeln!(out, "{}", card(summary, benchmark, folder, color));
    }
    writeln!(out, "{}\n", summary_table(summary, color, width))?;
    for line in note_lines(summary) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "results: {}", folder.path().display())?;
    let page = folder.path().join("index.html");
    if page.is_file() {
        writeln!(out, "report:  {}", page.display())?;
    }
    Ok(())
}
