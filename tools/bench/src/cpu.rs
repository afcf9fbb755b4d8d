//! `superstep-bench cpu`: speed of the CPU backend, compared with other CUDA implementations for CPUs and plain loops.

use std::path::Path;

use serde::Deserialize;
use superstep_build::compile::BuildOptions;
use superstep_build::failure::Failure;
use superstep_build::manifest::Suite;
use superstep_build::{bail, exit_code};
use superstep_harness::{
    Execution, FetchArgs, Kind, MessageFormat, ProgramChoice, Run, Session, capture_failure, host,
};
use superstep_report::papers::{
    CPU_EMPTY_LAUNCH_US, CPU_SIZE, CPU_TRACED, CpuTime, RODINIA, rodinia,
};
use superstep_table::table_from;
use superstep_trace::{Backend, Capture, Summary};

use crate::built::Built;
use crate::output::say_table;
use crate::run::{figures, scratch};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run each program N times; the best run counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    #[command(flatten)]
    fetch: FetchArgs,
}

table_from! {
    /// Untraced kernels of a program, over all launches of a run.
    fn programs<'a>((published, best), &'a (CpuTime, Summary)) = "programs" {
        program: String = "the program" => published.program.clone();
        size: String = "the problem size" => published.problem.clone();
        launches: u64 = "kernel launches" => best.launches;
        kernel_ms: f64 ["ms"] = "total time of the kernels" => ms(best);
        published_ms: f64 ["ms"] = "best published time" => published.ms;
        published_by: String = "source of the published time" => published.by.clone();
        times_faster: f64 = "published time divided by ours" => published.ms / ms(best);
    }
}

table_from! {
    /// A kernel on all cores, and the same computation as a serial loop.
    fn twins<'a>(twin, &'a Twin) = "twins" {
        kernel: String = "the kernel" => twin.kernel.clone();
        kernel_ms: f64 ["ms"] = "time on all cores" => twin.kernel_ns / 1e6;
        serial_ms: f64 ["ms"] = "time of the loop" => twin.serial_ns / 1e6;
        ratio: f64 = "kernel_ms / serial_ms" => twin.kernel_ns / twin.serial_ns;
    }
}

/// Returns the total time of a run's kernels.
fn ms(summary: &Summary) -> f64 {
    summary.kernel_ns as f64 / 1e6
}

#[derive(Debug, Deserialize)]
struct Twin {
    kernel: String,
    kernel_ns: f64,
    serial_ns: f64,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let bench = Bench::new(args)?;
    let (host, repeat) = (host(), args.repeat);
    let (cpu, cores) = (&host.cpu, host.cores);
    say!("{cpu}, {cores} core(s); best of {repeat} run(s)");
    bench.twins()?;
    let suite = bench.session.suite(RODINIA)?;
    bench.published(&suite)?;
    bench.traced(&suite)?;
    Ok(exit_code::OK)
}

struct Bench<'a> {
    args: &'a Args,
    session: Session,
    execution: Execution,
    scratch: tempfile::TempDir,
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args) -> Result<Self, Failure> {
        let fetch = args.fetch.options()?;
        let build = BuildOptions::new(Backend::Cpu);
        Ok(Bench {
            args,
            execution: Execution::new(Backend::Cpu, fetch.clone()),
            session: Session::new(build, fetch, MessageFormat::Human),
            scratch: scratch()?,
        })
    }

    fn twins(&self) -> Result<(), Failure> {
        let suite = self.session.suite("bench-cpu")?;
        let built = self.build(&suite, "twins", "full")?;
        let mut best: Vec<Twin> = Vec::new();
        for _ in 0..self.args.repeat {
            let path = self.run(&built, Kind::Native, None)?.files.stdout;
            let text = std::fs::read_to_string(&path).map_err(Failure::io("read", &path))?;
            for (index, twin) in figures::<Twin>(&text).into_iter().enumerate() {
                match best.get_mut(index) {
                    Some(best) => {
                        best.kernel_ns = best.kernel_ns.min(twin.kernel_ns);
                        best.serial_ns = best.serial_ns.min(twin.serial_ns);
                    }
                    None => best.push(twin),
                }
            }
        }
        say!("\nKernels on all cores, compared with serial loops");
        let (empty, others): (Vec<_>, Vec<_>) =
            (best.iter()).partition(|twin| twin.serial_ns == 0.0);
        say_table(&twins(others));
        for launch in empty {
            say!(
                "\nEmpty launch with synchronisation: {:.2} µs (published: {CPU_EMPTY_LAUNCH_US:.0} µs)",
                launch.kernel_ns / 1e3
            );
        }
        Ok(())
    }

    /// Measures the programs with published times.
    fn published(&self, suite: &Suite) -> Result<(), Failure> {
        let mut rows = Vec::new();
        for published in rodinia().cpu {
            let built = self.build(suite, &published.program, CPU_SIZE)?;
            let best = self.best(&built, Kind::Native, None)?;
            rows.push((published, best));
        }
        say!("\nUntraced kernels, over all launches of a run");
        say_table(&programs(&rows));
        Ok(())
    }

    /// Measures a program untraced, then with its accesses logged, grouped, checked and dropped, then with a capture.
    fn traced(&self, suite: &Suite) -> Result<(), Failure> {
        let (program, size) = CPU_TRACED;
        let built = self.build(suite, program, size)?;
        let capture = self.scratch.path().join("capture");
        let time =
            |kind, capture| -> Result<f64, Failure> { Ok(ms(&self.best(&built, kind, capture)?)) };
        let times = [
            ("untraced", time(Kind::Native, None)?),
            ("logged and dropped", time(Kind::Traced, None)?),
            ("captured", time(Kind::Traced, Some(&capture))?),
        ];
        let capture = Capture::open(&capture).map_err(capture_failure)?;
        let ends = capture.launches().filter_map(|record| record.end);
        let accesses: u64 = ends.map(|end| end.thread_accesses).sum();
        say!("\nTracing {program}: {accesses} accesses");
        for (how, ms) in times {
            say!("{how}: {ms:.2} ms");
        }
        Ok(())
    }

    fn build<'s>(&self, suite: &'s Suite, program: &str, size: &str) -> Result<Built<'s>, Failure> {
        let choice = ProgramChoice::one(program.to_owned(), size.to_owned())?;
        let fetched = self.session.fetch(suite, &choice)?;
        match self.session.build(&fetched, |_, _| {})?.first() {
            Some(item) => Built::new(suite, item, size),
            None => bail!(
                Usage,
                "failed to find {program} in the suite {}",
                suite.name
            ),
        }
    }

    /// Returns the summary of the run with the shortest kernel time.
    fn best(
        &self,
        built: &Built<'_>,
        kind: Kind,
        capture: Option<&Path>,
    ) -> Result<Summary, Failure> {
        let mut best: Option<Summary> = None;
        for _ in 0..self.args.repeat {
            if let Some(capture) = capture.filter(|capture| capture.exists()) {
                std::fs::remove_dir_all(capture).map_err(Failure::io("remove", &capture))?;
            }
            let summary = self.run(built, kind, capture)?.summary;
            let summary =
                summary.map_err(|why| Failure::internal("read the summary of a run", why))?;
            if (best.as_ref()).is_none_or(|best| summary.kernel_ns < best.kernel_ns) {
                best = Some(summary);
            }
        }
        Ok(best.expect("clap requires at least one run"))
    }

    fn run(&self, built: &Built<'_>, kind: Kind, capture: Option<&Path>) -> Result<Run, Failure> {
        let name = &built.benchmark.name;
        let doing = format!("{name}: running {}", kind.name());
        self.session.reporter.doing(doing);
        let folder = self.scratch.path().join(name);
        match built.run(kind, &self.execution, &folder, capture)? {
            (run, None) => Ok(run),
            (_, Some(failure)) => Err(failure),
        }
    }
}
