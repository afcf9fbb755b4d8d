//! `superstep probe`: runs a program or a suite with probes, and writes their tables.

use std::path::PathBuf;

use serde_json::json;
use superstep_build::failure::Failure;
use superstep_build::installation::Installation;
use superstep_build::probe::{Probe, builtin};
use superstep_build::{exit_code, interrupt};

use crate::arguments::programs::ProgramArgs;
use crate::arguments::start_workers;
use crate::probe::{ProbeRun, RunOptions, measure, parameters, run_table, write_study};
use crate::terminal::{print, print_json, print_lines};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Probes to run, comma-separated: names from `--list`, or YAML files.
    #[arg(value_name = "PROBE", required = true)]
    probe: Option<String>,
    /// List the probes that come with Superstep.
    #[arg(long, exclusive = true)]
    list: bool,
    /// Take the programs from this bundle instead of building them.
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Run N times with and without the probe; keep the best times.
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
    let Some(names) = &args.probe else {
        return list();
    };
    let programs = &args.programs;
    programs.execute.record.whole_launches()?;
    start_workers(programs.build.jobs)?;
    let session = programs.session(args.bundle.as_deref())?;
    let (suite, choice) = programs.chosen(&session)?;
    let execution = programs.execute.execution(&session)?;
    let probes: Vec<Probe> = (names.split(','))
        .map(|name| session.probe(name))
        .collect::<Result<_, _>>()?;
    let fetched = session.fetch(&suite, &choice)?;
    let (mut code, mut records) = (exit_code::OK, Vec::new());
    for probe in &probes {
        let run = RunOptions {
            keep_threads: args.keep_threads,
            parameters: parameters(probe, &args.set)?,
            repeat: args.repeat,
        };
        let folder = programs.execute.out.join("probes").join(&probe.spec.name);
        let folder = folder.join(&suite.name);
        let record = measure(&session, &fetched, &execution, probe, &run, &folder)?;
        session.reporter.finish();
        let study = write_study(&folder, &record)?;
        if programs.execute.prints_text() {
            let (costs, folder) = (run_table(&record), folder.display());
            print(|out| writeln!(out, "{study}\n\n{costs}\nresults: {folder}"))?;
        }
        session.reporter.message("probe-finished", json!(record));
        if code == exit_code::OK {
            code = code_of(&record);
        }
        records.push(record);
        if interrupt::requested() {
            code = exit_code::INTERRUPTED;
            break;
        }
    }
    if programs.execute.json {
        print_json(&json!({ "schema_version": 1, "probes": records }))?;
    }
    Ok(code)
}

fn list() -> Result<i32, Failure> {
    let installation = Installation::find();
    let line = |name: String| {
        let title = Probe::load(&name, &installation)?.spec.title;
        Ok(format!("{name:<18}  {title}"))
    };
    let names = builtin(&installation)?.into_iter();
    print_lines(&names.map(line).collect::<Result<Vec<String>, Failure>>()?)
}

fn code_of(record: &ProbeRun) -> i32 {
    let rows = record.benchmarks.iter();
    let failures: Vec<&Failure> = rows.filter_map(|row| row.failure.as_ref()).collect();
    match failures[..] {
        [] => exit_code::OK,
        [failure] if record.benchmarks.len() == 1 => exit_code::of(failure.kind),
        _ => exit_code::BENCHMARK_FAILED,
    }
}
