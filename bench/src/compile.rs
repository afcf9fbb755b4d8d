//! `superstep-bench compile`: the time of each step from source to executable, without and with a probe.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use superstep_build::compile::{BuildEvent, Builder, Program, Toolset};
use superstep_build::exit_code;
use superstep_build::failure::Failure;
use superstep_build::interrupt;
use superstep_build::probe::Probe;
use superstep_harness::{
    ProgramArgs, RunFolder, Session, as_text, print, redraw, start_workers, write_found, write_page,
};
use superstep_report::probes::{FOLDER, StepTime, compile_steps};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Probe: a YAML file, or the name of a probe that comes with Superstep.
    #[arg(long, value_name = "PROBE", default_value = "basic-blocks")]
    probe: String,
    /// Compile each program N times without and N times with the probe; the fastest compilation counts.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Add the times to this run of the suite, and to its report.
    #[arg(long, value_name = "RUN_DIR")]
    into: Option<PathBuf>,
    #[command(flatten)]
    programs: ProgramArgs,
}

const PAGE: (&str, &str) = ("compile-steps", "the steps of a compilation");

/// Runs the command. One step runs at a time, so that they do not slow each other down, and nothing comes from a cache.
pub fn run(args: &Args) -> Result<i32, Failure> {
    start_workers(Some(1))?;
    let session = args.programs.session(None)?;
    let probe = session.probe(&args.probe)?;
    let asked = args.programs.asked(&session)?;
    let suite = &asked.suite;
    let fetched = session.fetch(suite, &asked.choice)?;
    let tools = session.builder()?.tools();
    let mut times = Vec::new();
    for (benchmark, tree) in fetched.sources() {
        let program = Program::of_benchmark(benchmark, &tree?.directory);
        for probe in [None, Some(&probe)] {
            if interrupt::requested() {
                return Ok(exit_code::INTERRUPTED);
            }
            session
                .reporter
                .doing(format!("compiling {}", program.name));
            let compile = || measure(&program, probe, tools, &session);
            let mut best = compile()?;
            for _ in 1..args.repeat {
                let other = compile()?;
                if sum(&other) < sum(&best) {
                    best = other;
                }
            }
            times.extend(best);
        }
    }
    session.reporter.finish();
    let study = compile_steps(&probe.spec.name, &times);
    let run = args.into.as_ref().map(RunFolder::open);
    let folder = match &run {
        Some(run) => run.path().join(FOLDER).join(PAGE.0),
        None => args.programs.execute.out.join(PAGE.0).join(&suite.name),
    };
    write_found(&folder, &study)?;
    let command: Vec<String> = std::env::args().collect();
    let lines = [format!("Command: {}", command.join(" "))];
    let title = format!("{} of {}", PAGE.1, suite.name);
    write_page(&folder, PAGE, &title, &lines, &study)?;
    if let Some(run) = &run {
        redraw(run, &run.read_summary()?)?;
    }
    print(|out| {
        for table in &study.tables {
            writeln!(out, "{}", as_text(table))?;
        }
        writeln!(out, "results: {}", folder.display())
    })?;
    Ok(exit_code::OK)
}

fn sum(times: &[StepTime]) -> f64 {
    times.iter().map(|time| time.seconds).sum()
}

/// The steps of one compilation in an empty cache, in the order in which they first ended.
fn measure(
    program: &Program,
    probe: Option<&Probe>,
    tools: &Toolset,
    session: &Session,
) -> Result<Vec<StepTime>, Failure> {
    let cache = tempfile::tempdir().map_err(|error| Failure::internal("make a folder", error))?;
    let spent = Arc::new(Mutex::new(Vec::<StepTime>::new()));
    let list = Arc::clone(&spent);
    let (name, is_probed) = (program.name.clone(), probe.is_some());
    let observer = move |event: BuildEvent<'_>| {
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = event.elapsed.as_secs_f64();
        match list.iter_mut().find(|time| time.step == event.stage) {
            Some(time) => time.seconds += seconds,
            None => list.push(StepTime {
                program: name.clone(),
                is_probed,
                step: event.stage.to_owned(),
                seconds,
            }),
        }
    };
    let builder = Builder::new(
        tools.clone(),
        session.installation.clone(),
        session.build.clone(),
        cache.path().to_owned(),
        observer,
    );
    builder.build_one(program, probe)?;
    let times = spent.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(times.clone())
}
