//! `superstep probe`: runs a program or a suite with probes, and writes their tables.

use std::path::PathBuf;

use superstep_build::failure::Failure;
use superstep_build::probe::Probe;
use superstep_build::{exit_code, interrupt};

use crate::arguments::programs::ProgramArgs;
use crate::arguments::start_workers;
use crate::probe::{ProbeRun, RunOptions, measure, parameters, run_text, write_study};
use crate::terminal::print;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Probes to run one after the other, comma-separated: YAML files, or names of probes that come with Superstep (basic-blocks,
    /// branches, cta-clocks, instruction-mix, memory-divergence, values).
    #[arg(value_name = "PROBE")]
    probe: String,
    /// Take the programs from this bundle instead of building them.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Run each program N times without and N times with the probe, and take the shortest times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Set a parameter of the probe.
    #[arg(long, value_name = "NAME=NUMBER")]
    set: Vec<String>,
    /// Keep the fields of every thread (for probes with `per: thread`).
    #[arg(long)]
    keep_threads: bool,
    #[command(flatten)]
    programs: ProgramArgs,
}

/// Runs probes separately, so that none measures another's code.
pub fn run(args: &Args) -> Result<i32, Failure> {
    let programs = &args.programs;
    programs.execute.record.whole_launches()?;
    start_workers(programs.build.jobs)?;
    let session = programs.session(args.bundle.as_deref())?;
    let chosen = programs.chosen(&session)?;
    let execution = programs.execute.execution(&session)?;
    let probes: Vec<Probe> = (args.probe.split(','))
        .map(|name| session.probe(name))
        .collect::<Result<_, _>>()?;
    let fetched = session.fetch(&chosen.suite, &chosen.choice)?;
    let mut code = exit_code::OK;
    for probe in &probes {
        let run = RunOptions {
            keep_threads: args.keep_threads,
            parameters: parameters(probe, &args.set)?,
            repeat: args.repeat,
        };
        let folder = programs.execute.out.join("probes").join(&probe.spec.name);
        let folder = folder.join(&chosen.suite.name);
        let record = measure(&session, &fetched, &execution, probe, &run, &folder)?;
        session.reporter.finish();
        let study = write_study(&folder, &record)?;
        print(|out| writeln!(out, "{}", run_text(&folder, &record, &study)))?;
        if code == exit_code::OK {
            code = code_of(&record);
        }
        if interrupt::requested() {
            return Ok(exit_code::INTERRUPTED);
        }
    }
    Ok(code)
}

fn code_of(record: &ProbeRun) -> i32 {
    let rows = record.benchmarks.iter();
    let failures: Vec<&Failure> = rows.filter_map(|row| row.failure.as_ref()).collect();
    match failures[..] {
        [] => exit_code::OK,
        [only] if record.benchmarks.len() == 1 => exit_code::of(only.kind),
        _ => exit_code::BENCHMARK_FAILED,
    }
}
