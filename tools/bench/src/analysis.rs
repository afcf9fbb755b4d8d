//! `superstep-bench analysis`: how fast accesses are analysed, and in how much memory.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::metrics::Settings;
use superstep_analysis::{AnalysisError, analyse_within, tables};
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_harness::{ByteSize, capture_failure};
use superstep_testing::synthetic::{self, ACCESSES_PER_THREAD, Pattern};
use superstep_trace::Capture;

/// Words of each array of the programs that are held against hash maps.
const WORDS: u64 = 1 << 20;
/// Words of each array of the large capture: a launch of it has 67 million accesses.
const LARGE_WORDS: u64 = 1 << 23;
/// In the large capture, one launch in this many is scattered.
const SCATTERED_EVERY: u32 = 16;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Instead, generate a capture of at least this many accesses (for example 1e9), with one scattered launch in 16, and analyse it.
    #[arg(long, value_name = "ACCESSES")]
    large: Option<f64>,
    /// Instead, analyse this capture.
    #[arg(long, value_name = "CAPTURE", conflicts_with = "large")]
    capture: Option<PathBuf>,
    /// Memory limit for the analysis, with --large and --capture.
    #[arg(long, value_name = "SIZE", default_value = "2GB")]
    analysis_memory: ByteSize,
    /// Folder for the capture and for temporary files [default: the system's folder for temporary files].
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Only write the capture of --large, into this folder.
    #[arg(long, value_name = "DIR", requires = "large")]
    write: Option<PathBuf>,
    /// With --large: what its launches do, in place of one scattered launch in 16. With one-page, a page has half of all accesses.
    #[arg(long, value_name = "WHAT", value_parser = pattern())]
    pattern: Option<Pattern>,
    /// Repeat each measurement N times; the best one counts.
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeat: u32,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let parent = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let scratch =
        tempfile::tempdir_in(&parent).map_err(Failure::io("make a folder in", &parent))?;
    println!(
        "threads: {}; accesses/s of wall time, and of processor time if all threads had a core for themselves",
        threads()
    );
    match (&args.capture, args.large) {
        (Some(capture), _) => whole(args, capture, scratch.path()),
        (None, Some(accesses)) => large(args, accesses, scratch.path()),
        (None, None) => compared(args, scratch.path()),
    }
}

fn pattern() -> impl TypedValueParser<Value = Pattern> {
    PossibleValuesParser::new(["regular", "scattered", "one-page"]).map(|name| match &*name {
        "regular" => Pattern::Regular,
        "scattered" => Pattern::Scattered,
        _ => Pattern::OnePage,
    })
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The engine in memory and from a capture, and hash maps.
fn compared(args: &Args, scratch: &Path) -> Result<i32, Failure> {
    for (name, pattern) in [
        ("regular", Pattern::Regular),
        ("scattered", Pattern::Scattered),
    ] {
        let program = synthetic::program(pattern, 3, WORDS);
        let accesses = synthetic::accesses(&program);
        println!("{name}: {accesses} accesses");
        let line = |what: &str, measured: &Measured| measured.print(what, accesses);
        let (engine, found) = best(args.repeat, threads(), || {
            synthetic::engine(&program, Options::default())
        })?;
        line("engine, volumes only", &engine);
        let (everything, _) = best(args.repeat, threads(), || {
            synthetic::engine(&program, Options::everything())
        })?;
        line("engine, everything", &everything);
        let folder = scratch.join(name);
        synthetic::write(&folder, 3, WORDS, |_| pattern).map_err(capture_failure)?;
        let capture = Capture::open(&folder).map_err(capture_failure)?;
        for (what, options) in [
            ("capture, volumes only", Options::default()),
            ("capture, everything", Options::everything()),
        ] {
            let (from_capture, _) = best(args.repeat, threads(), || {
                analyse_within(&capture, options, &MemoryLimit::none())
            })?;
            line(what, &from_capture);
        }
        let (simple, wanted) = best(1, 1, || Ok(synthetic::simple(&program)))?;
        line("hash maps, one thread", &simple);
        if found != wanted {
            let message = format!(
                "the engine and the hash maps disagree on {name}: {found:?} and {wanted:?}; please report this"
            );
            return Err(Failure::new(FailureKind::Verification, message));
        }
        println!(
            "  ratio of the engine, volumes only, to hash maps: {:.1} by wall time, {:.1} by processor time",
            simple.wall_s / engine.wall_s,
            simple.full_s / engine.full_s
        );
    }
    Ok(exit_code::OK)
}

/// A capture that is larger than memory might be.
fn large(args: &Args, accesses: f64, scratch: &Path) -> Result<i32, Failure> {
    let of_a_launch = LARGE_WORDS * ACCESSES_PER_THREAD;
    let launches = (accesses / of_a_launch as f64).ceil().clamp(1.0, 1e6) as u32;
    let folder = (args.write.clone()).unwrap_or_else(|| scratch.join("capture"));
    let pattern = |launch| match args.pattern {
        Some(pattern) => pattern,
        None if launch % SCATTERED_EVERY == 7 => Pattern::Scattered,
        None => Pattern::Regular,
    };
    let started = Instant::now();
    synthetic::write(&folder, launches, LARGE_WORDS, pattern).map_err(capture_failure)?;
    println!(
        "capture: written in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    match args.write {
        Some(_) => Ok(exit_code::OK),
        None => whole(args, &folder, scratch),
    }
}

/// All tables of a capture.
fn whole(args: &Args, folder: &Path, scratch: &Path) -> Result<i32, Failure> {
    let capture = Capture::open(folder).map_err(capture_failure)?;
    let limit = MemoryLimit {
        bytes: args.analysis_memory.bytes,
        spill_into: scratch.to_owned(),
    };
    let (measured, analysis) = best(1, threads(), || {
        let analysis = analyse_within(&capture, Options::everything(), &limit)?;
        let (folder, settings) = (scratch.join("tables"), Settings::default());
        tables::write_tables(&folder, &analysis, capture.sites(), &settings)?;
        Ok(analysis)
    })?;
    let accesses = analysis.counts.total.thread_accesses();
    println!(
        "capture: {accesses} accesses in {} launches, {} MB",
        analysis.communication.launches.len(),
        capture.stored_bytes().map_err(capture_failure)? / 1_000_000
    );
    measured.print("analysis with all tables", accesses);
    println!(
        "  {} transfers, {} bytes received, limit {} MB, {} MB written",
        analysis.communication.transfers.len(),
        analysis.communication.total.received_bytes,
        args.analysis_memory.bytes / 1_000_000,
        measured.written_bytes / 1_000_000
    );
    Ok(exit_code::OK)
}

struct Measured {
    wall_s: f64,
    /// Time it would have taken if each thread had had a core for itself.
    full_s: f64,
    /// Largest resident memory of the process, and what it was before.
    peak_bytes: u64,
    before_bytes: u64,
    /// Into files.
    written_bytes: u64,
}

impl Measured {
    fn print(&self, what: &str, accesses: u64) {
        let rate = |seconds: f64| accesses as f64 / seconds / 1e6;
        println!(
            "  {what:26} {:8.1} M/s wall, {:8.1} M/s processor; peak memory {} MB, {} MB of it before",
            rate(self.wall_s),
            rate(self.full_s),
            self.peak_bytes / 1_000_000,
            self.before_bytes / 1_000_000
        );
    }
}

/// The quickest by processor time.
fn best<T>(
    times: u32,
    threads: usize,
    work: impl Fn() -> Result<T, AnalysisError>,
) -> Result<(Measured, T), Failure> {
    let measure = || -> Result<(Measured, T), Failure> {
        // Linux: makes the kernel forget the largest resident memory so far. Without it the peak is that of all that was done.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let before_bytes = 1024 * proc_number("status", "VmRSS:");
        let written_before = proc_number("io", "wchar:");
        let (started, processor) = (Instant::now(), processor_s());
        let result = work().map_err(capture_failure)?;
        let wall_s = started.elapsed().as_secs_f64();
        let spent = processor_s().zip(processor);
        let spent = spent.map_or(f64::NAN, |(after, before)| after - before);
        let measured = Measured {
            wall_s,
            full_s: spent / threads as f64,
            peak_bytes: 1024 * proc_number("status", "VmHWM:"),
            before_bytes,
            written_bytes: proc_number("io", "wchar:") - written_before,
        };
        Ok((measured, result))
    };
    let mut best = measure()?;
    for _ in 1..times {
        let again = measure()?;
        if again.0.full_s < best.0.full_s {
            best = again;
        }
    }
    Ok(best)
}

/// Processor time of this process so far; Linux only.
fn processor_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    // User and system time, in hundredths of a second on every Linux.
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// The number behind `name` in a file about this process; Linux only.
fn proc_number(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}
