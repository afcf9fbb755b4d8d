//! `superstep-bench cpu`: how fast the CPU backend is, beside other CUDA implementations for processors and beside plain loops.

use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_analysis::run_summary::Host;
use superstep_build::compile::BuildOptions;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::manifest::Suite;
use superstep_build::{exit_code, interrupt};
use superstep_harness::{
    Case, Execution, FetchArgs, Kind, MessageFormat, Prepared, ProgramChoice, Run, Session,
    capture_failure, host,
};
use superstep_report::papers::{CPU_EMPTY_LAUNCH_US, CPU_SIZE, CPU_SUITE, CPU_TIMES, CPU_TRACED};
use superstep_trace::{Backend, Capture};

use crate::output::{JsonArgs, scratch, tool};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Run each program N times; the best run counts.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Leave out the programs with published times, whose sources have to be fetched.
    #[arg(long)]
    no_published: bool,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    fetch: FetchArgs,
}

#[derive(Debug, Default, Serialize)]
struct Results {
    schema_version: u32,
    tool: String,
    host: Option<Host>,
    repeat: u32,
    programs: Vec<ProgramRow>,
    empty_launch_us: f64,
    twins: Vec<TwinRow>,
    traced: Option<TracedRow>,
}

#[derive(Debug, Serialize)]
struct ProgramRow {
    program: &'static str,
    size: &'static str,
    launches: u64,
    kernel_ms: f64,
    published_ms: f64,
    published_by: &'static str,
    times_faster: f64,
}

/// A line that the twins print.
#[derive(Debug, Deserialize)]
struct Twin {
    kernel: String,
    kernel_ns: f64,
    serial_ns: f64,
}

#[derive(Debug, Serialize)]
struct TwinRow {
    kernel: String,
    kernel_ms: f64,
    serial_ms: f64,
    ratio: f64,
}

#[derive(Debug, Serialize)]
struct TracedRow {
    program: &'static str,
    accesses: u64,
    untraced_ms: f64,
    /// Without a capture: accesses are logged, grouped, checked, and dropped.
    dropped_ms: f64,
    captured_ms: f64,
    accesses_per_second: f64,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let bench = Bench::new(args)?;
    let mut results = Results {
        schema_version: 1,
        tool: tool(),
        host: Some(host()),
        repeat: args.repeat,
        ..Results::default()
    };
    if let Some(host) = &results.host {
        println!(
            "{}, {} core(s); best of {} run(s)",
            host.cpu, host.cores, args.repeat
        );
    }
    bench.twins(&mut results)?;
    if !args.no_published {
        bench.published(&mut results)?;
    }
    print(&results);
    args.json.write(&results)?;
    Ok(exit_code::OK)
}

fn print(results: &Results) {
    if !results.programs.is_empty() {
        println!(
            "\nUntraced kernels, from launch to end, all launches of a run together\n{:12} {:26} {:>9} {:>11} {:>13}  {:8} {:>7}",
            "program", "size", "launches", "kernels ms", "published ms", "by", "faster"
        );
        for row in &results.programs {
            println!(
                "{:12} {:26} {:>9} {:>11.2} {:>13.0}  {:8} {:>6.2}x",
                row.program,
                row.size,
                row.launches,
                row.kernel_ms,
                row.published_ms,
                row.published_by,
                row.times_faster
            );
        }
    }
    println!(
        "\nEmpty launch with synchronisation: {:.2} µs (published: {CPU_EMPTY_LAUNCH_US:.0} µs)",
        results.empty_launch_us
    );
    println!(
        "\nKernels on all cores, and the same as a serial loop\n{:16} {:>10} {:>10} {:>14}",
        "kernel", "kernel ms", "serial ms", "kernel/serial"
    );
    for row in &results.twins {
        println!(
            "{:16} {:>10.3} {:>10.3} {:>13.2}x",
            row.kernel, row.kernel_ms, row.serial_ms, row.ratio
        );
    }
    if let Some(row) = &results.traced {
        let rate = |ms: f64| row.accesses as f64 / ms / 1e3;
        println!(
            "\nTracing {}, {} accesses\nuntraced                     {:>9.2} ms\nlogged, grouped and dropped  {:>9.2} ms {:>7.1} M accesses/s\ncaptured                     {:>9.2} ms {:>7.1} M accesses/s",
            row.program,
            row.accesses,
            row.untraced_ms,
            row.dropped_ms,
            rate(row.dropped_ms),
            row.captured_ms,
            rate(row.captured_ms),
        );
    }
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

    fn twins(&self, results: &mut Results) -> Result<(), Failure> {
        let suite = self.session.suite("bench-cpu")?;
        let built = self.build(&suite, "twins", "full")?;
        let mut best: Vec<Twin> = Vec::new();
        for _ in 0..self.args.repeat {
            let run = self.execute(&suite, &built, "full", Kind::Native, None)?;
            for (index, twin) in twins_of(&run)?.into_iter().enumerate() {
                match best.get_mut(index) {
                    Some(best) => {
                        best.kernel_ns = best.kernel_ns.min(twin.kernel_ns);
                        best.serial_ns = best.serial_ns.min(twin.serial_ns);
                    }
                    None => best.push(twin),
                }
            }
        }
        for twin in best {
            if twin.serial_ns == 0.0 {
                results.empty_launch_us = twin.kernel_ns / 1e3;
                continue;
            }
            results.twins.push(TwinRow {
                kernel_ms: twin.kernel_ns / 1e6,
                serial_ms: twin.serial_ns / 1e6,
                ratio: twin.kernel_ns / twin.serial_ns,
                kernel: twin.kernel,
            });
        }
        Ok(())
    }

    /// The programs that others have published times of, and the one that is traced.
    fn published(&self, results: &mut Results) -> Result<(), Failure> {
        let suite = self.session.suite(CPU_SUITE)?;
        for published in CPU_TIMES {
            let built = self.build(&suite, published.program, CPU_SIZE)?;
            let (kernel_ms, run) = self.best(&suite, &built, CPU_SIZE, Kind::Native, None)?;
            results.programs.push(ProgramRow {
                program: published.program,
                size: published.problem,
                launches: summary(&run)?.launches,
                kernel_ms,
                published_ms: published.ms,
                published_by: published.by,
                times_faster: published.ms / kernel_ms,
            });
        }
        let (program, size) = CPU_TRACED;
        let built = self.build(&suite, program, size)?;
        let time = |kind, capture| self.best(&suite, &built, size, kind, capture);
        let capture = self.scratch.path().join("capture");
        let captured_ms = time(Kind::Traced, Some(&capture))?.0;
        let accesses = accesses_of(&capture)?;
        results.traced = Some(TracedRow {
            program,
            accesses,
            untraced_ms: time(Kind::Native, None)?.0,
            dropped_ms: time(Kind::Traced, None)?.0,
            captured_ms,
            accesses_per_second: accesses as f64 / captured_ms * 1e3,
        });
        Ok(())
    }

    fn build<'s>(
        &self,
        suite: &'s Suite,
        program: &str,
        size: &str,
    ) -> Result<Prepared<'s>, Failure> {
        let choice = ProgramChoice::one(program.to_owned(), size.to_owned())?;
        let fetched = self.session.fetch(suite, &choice)?;
        let built = self.session.build(&fetched, |_, _| {})?;
        built.into_iter().next().ok_or_else(|| {
            let message = format!("failed to find {program} in the suite {}", suite.name);
            Failure::new(FailureKind::Usage, message)
        })
    }

    /// The least kernel time of all runs, in milliseconds, and the last run.
    fn best(
        &self,
        suite: &Suite,
        built: &Prepared<'_>,
        size: &str,
        kind: Kind,
        capture: Option<&Path>,
    ) -> Result<(f64, Run), Failure> {
        let one = || -> Result<(f64, Run), Failure> {
            if let Some(capture) = capture.filter(|capture| capture.exists()) {
                std::fs::remove_dir_all(capture).map_err(Failure::io("remove", &capture))?;
            }
            let run = self.execute(suite, built, size, kind, capture)?;
            Ok((summary(&run)?.kernel_ns as f64 / 1e6, run))
        };
        let (mut best, mut last) = one()?;
        for _ in 1..self.args.repeat {
            let (ms, run) = one()?;
            (best, last) = (best.min(ms), run);
        }
        Ok((best, last))
    }

    fn execute(
        &self,
        suite: &Suite,
        built: &Prepared<'_>,
        size: &str,
        kind: Kind,
        capture: Option<&Path>,
    ) -> Result<Run, Failure> {
        if interrupt::requested() {
            let why = "the measurement was interrupted";
            return Err(Failure::new(FailureKind::Interrupted, why));
        }
        let benchmark = built.benchmark;
        let name = &benchmark.name;
        let Some(settings) = benchmark.sizes.get(size) else {
            let message = format!("failed to find the size `{size}` of {name} in its manifest");
            return Err(Failure::new(FailureKind::Usage, message));
        };
        let case = Case {
            suite,
            benchmark,
            size: settings,
            execution: &self.execution,
            sources: &built.sources,
        };
        let executables = built.executables.as_ref().map_err(Clone::clone)?;
        let program = match kind {
            // Nothing here is probed.
            Kind::Native | Kind::Nvcc | Kind::Unfused | Kind::Probed => &executables.native,
            Kind::Traced | Kind::Recorded => &executables.traced,
            Kind::Counted => &executables.counted,
        };
        self.session
            .reporter
            .doing(format!("{name}: running {}", kind.name()));
        let folder = self.scratch.path().join(name);
        let run = case.execute(kind, program, &folder, capture)?;
        match run.failure(&case) {
            Some(failure) => Err(failure),
            None => Ok(run),
        }
    }
}

fn summary(run: &Run) -> Result<&superstep_trace::Summary, Failure> {
    run.summary.as_ref().map_err(|why| {
        let message = format!("failed to read the summary of a run: {why}");
        Failure::new(FailureKind::Run, message)
    })
}

fn twins_of(run: &Run) -> Result<Vec<Twin>, Failure> {
    let path = &run.files.stdout;
    let text = std::fs::read_to_string(path).map_err(Failure::io("read", &path))?;
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let twin = |line| {
        serde_json::from_str(line)
            .map_err(|error| Failure::internal(format_args!("read {line}"), error))
    };
    lines.map(twin).collect()
}

/// Accesses of a capture, each thread's counted.
fn accesses_of(folder: &Path) -> Result<u64, Failure> {
    let capture = Capture::open(folder).map_err(capture_failure)?;
    let ends = capture.launches().filter_map(|record| record.end);
    Ok(ends.map(|end| end.thread_accesses).sum())
}
