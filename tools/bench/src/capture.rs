//! `superstep-bench capture`: how fast accesses come off a GPU, protocol by protocol, in one run on one device.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use superstep_abi::Config;
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_harness::{Bundle, capture_failure};
use superstep_trace::{Capture, HostEvent, Protocol};

use crate::output::{Head, JsonArgs, say, scratch};

/// Name of the program in `suites/bench`.
const PROGRAM: &str = "patterns";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundles of the suite `bench`, one per protocol (`superstep bundle bench --protocol NAME --out DIR`).
    #[arg(value_name = "BUNDLE", required = true)]
    bundles: Vec<PathBuf>,
    /// Access patterns to run, comma-separated.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "coalesced,strided,broadcast,scattered,atomic"
    )]
    patterns: Vec<String>,
    /// Sinks of the protocol `stream`, comma-separated.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "count,memory,disk"
    )]
    sinks: Vec<Sink>,
    /// Numbers of bins to try with the protocol `thesis`, comma-separated; the best result counts.
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        default_value = "32,64,128"
    )]
    bins: Vec<u32>,
    /// Duration of each program with the protocol `stream`.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,
    /// Duration of the other programs.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    short_seconds: f64,
    /// Rounds per launch with the protocol `stream`: 2.16 million accesses each.
    #[arg(long, value_name = "N", default_value_t = 512)]
    rounds: u32,
    #[command(flatten)]
    json: JsonArgs,
}

/// Where the protocol `stream` puts the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum Sink {
    Count,
    Memory,
    Disk,
}

impl std::fmt::Display for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Count => "count",
            Self::Memory => "memory",
            Self::Disk => "disk",
        })
    }
}

struct How<'a> {
    protocol: Protocol,
    sink: Sink,
    pattern: &'a str,
    /// Bins of the protocol `thesis`.
    bins: Option<u32>,
}

#[derive(Debug, Clone, Serialize)]
struct Row {
    protocol: Protocol,
    sink: Sink,
    pattern: String,
    /// Bins of the protocol `thesis`.
    bins: Option<u32>,
    accesses: u64,
    launches: u64,
    seconds: f64,
    accesses_per_second: f64,
    bus_bytes: u64,
    bus_bytes_per_second: f64,
    bus_bytes_per_access: f64,
    stored_bytes_per_access: Option<f64>,
    /// Time for the same accesses without a trace is this much shorter.
    slowdown: f64,
    lost: u64,
    dma_share: f64,
    /// Accesses per second over those of the protocol `thesis`.
    times_thesis: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Results {
    #[serde(flatten)]
    head: Head,
    device: Value,
    dma_bytes_per_second: f64,
    native_accesses_per_second: Vec<(String, f64)>,
    rows: Vec<Row>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let mut bundles = Vec::new();
    for folder in &args.bundles {
        let bundle = Bundle::open(folder)?;
        bundles.push((bundle.info.protocol, bundle.executables(PROGRAM)?));
    }
    // The figures of the protocol `thesis` come first, so that the others can be held against them.
    bundles.sort_by_key(|(protocol, _)| *protocol != Protocol::Thesis);
    let native = &bundles[0].1.native;
    let scratch = scratch()?;
    let bench = Bench {
        args,
        scratch: scratch.path(),
    };

    let seconds = args.short_seconds.to_string();
    let dma = bench.program(native, &["dma", "1", "1", &seconds], &Config::default())?;
    let mut results = Results {
        head: Head::now(),
        device: Value::Null,
        dma_bytes_per_second: dma.number("bytes") / dma.number("seconds"),
        native_accesses_per_second: Vec::new(),
        rows: Vec::new(),
    };
    say(format_args!(
        "DMA to page-locked memory: {:.1} GB/s",
        results.dma_bytes_per_second / 1e9
    ));
    for pattern in &args.patterns {
        let line = bench.pattern(
            native,
            pattern,
            args.rounds,
            4,
            args.short_seconds,
            &Config::default(),
        )?;
        let rate = line.number("accesses") / line.number("seconds");
        let untraced = &mut results.native_accesses_per_second;
        untraced.push((pattern.clone(), rate));
        say(format_args!(
            "{pattern:10} untraced: {:.2} G accesses/s",
            rate / 1e9
        ));
    }
    say(format_args!("{}", HEADINGS));
    for &(protocol, ref programs) in &bundles {
        if protocol == Protocol::Thesis {
            bench.thesis(&mut results, &programs.traced)?;
        } else {
            bench.sinks(&mut results, protocol, &programs.traced)?;
        }
    }
    results.device = bench.device().unwrap_or_default();
    say(format_args!("device: {}", results.device));
    args.json.write(&results)?;
    let lost: u64 = results.rows.iter().map(|row| row.lost).sum();
    if lost > 0 {
        let message = format!("{lost} accesses did not arrive; see the table");
        return Err(Failure::new(FailureKind::Verification, message));
    }
    Ok(exit_code::OK)
}

const HEADINGS: &str = "protocol sink   pattern    |  G acc/s  slowdown | bus GB/s  of DMA  B/access  stored B | lost | x thesis";

fn print_last(results: &Results) {
    let Some(row) = results.rows.last() else {
        return;
    };
    let optional = |value: Option<f64>, digits: usize| {
        value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let bins = row.bins.map(|bins| format!(" ({bins} bins)"));
    say(format_args!(
        "{:8} {:6} {:10} | {:8.3} {:8.1}x | {:8.2} {:6.0}% {:9.3} {:>9} | {:4} | {}{}",
        row.protocol,
        row.sink,
        row.pattern,
        row.accesses_per_second / 1e9,
        row.slowdown,
        row.bus_bytes_per_second / 1e9,
        row.dma_share * 100.0,
        row.bus_bytes_per_access,
        optional(row.stored_bytes_per_access, 3),
        row.lost,
        optional(row.times_thesis, 1),
        bins.unwrap_or_default(),
    ));
}

/// A line of JSON that the program printed.
struct Line(Value);

impl Line {
    fn number(&self, key: &str) -> f64 {
        self.0.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    fn integer(&self, key: &str) -> u64 {
        self.0.get(key).and_then(Value::as_u64).unwrap_or(0)
    }
}

struct Bench<'a> {
    args: &'a Args,
    scratch: &'a Path,
}

impl Bench<'_> {
    /// The patterns in the thesis' protocol, with the number of bins that is best for the first.
    fn thesis(&self, results: &mut Results, program: &Path) -> Result<(), Failure> {
        let mut tried = self.args.bins.clone();
        for pattern in &self.args.patterns {
            let mut rows = Vec::new();
            for &bins in &tried {
                let how = How {
                    protocol: Protocol::Thesis,
                    sink: Sink::Disk,
                    pattern,
                    bins: Some(bins),
                };
                rows.push(self.row(results, program, &how)?);
            }
            let best = rows.into_iter();
            let best = best.max_by(|a, b| a.accesses_per_second.total_cmp(&b.accesses_per_second));
            tried = best.as_ref().and_then(|row| row.bins).into_iter().collect();
            results.rows.extend(best);
            print_last(results);
        }
        Ok(())
    }

    /// The patterns in another protocol, with each sink.
    fn sinks(
        &self,
        results: &mut Results,
        protocol: Protocol,
        program: &Path,
    ) -> Result<(), Failure> {
        for &sink in &self.args.sinks {
            for pattern in &self.args.patterns {
                let how = How {
                    protocol,
                    sink,
                    pattern,
                    bins: None,
                };
                results.rows.push(self.row(results, program, &how)?);
                print_last(results);
            }
        }
        Ok(())
    }

    fn program(
        &self,
        program: &Path,
        arguments: &[&str],
        config: &Config,
    ) -> Result<Line, Failure> {
        let shown = || format!("{} {}", program.display(), arguments.join(" "));
        let output = Command::new(program)
            .args(arguments)
            .envs(config.to_env())
            .output()
            .map_err(|error| Failure::internal(format_args!("start {}", shown()), error))?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text
            .lines()
            .find_map(|line| serde_json::from_str(line).ok())
        {
            Some(line) if output.status.success() => Ok(Line(line)),
            _ => {
                let errors = String::from_utf8_lossy(&output.stderr);
                let (shown, status) = (shown(), output.status);
                let message = format!("failed to run {shown} ({status}): {text}{errors}");
                Err(Failure::new(FailureKind::Run, message))
            }
        }
    }

    fn pattern(
        &self,
        program: &Path,
        pattern: &str,
        rounds: u32,
        launches: u32,
        seconds: f64,
        config: &Config,
    ) -> Result<Line, Failure> {
        let (rounds, launches) = (rounds.to_string(), launches.to_string());
        let arguments = [pattern, &rounds, &launches, &seconds.to_string()];
        self.program(program, &arguments, config)
    }

    fn summary(&self) -> PathBuf {
        self.scratch.join("summary.json")
    }

    fn device(&self) -> Option<Value> {
        let text = std::fs::read_to_string(self.summary()).ok()?;
        let summary: Value = serde_json::from_str(&text).ok()?;
        summary.get("device").cloned()
    }

    fn row(&self, results: &Results, program: &Path, how: &How<'_>) -> Result<Row, Failure> {
        let &How {
            protocol,
            sink,
            pattern,
            bins,
        } = how;
        let folder = self.scratch.join("capture");
        let config = Config {
            protocol: Some(protocol),
            sink: match sink {
                Sink::Count => superstep_abi::RecordSink::Count,
                Sink::Memory => superstep_abi::RecordSink::Memory,
                Sink::Disk => superstep_abi::RecordSink::Disk,
            },
            capture: Some(folder.clone()),
            summary: Some(self.summary()),
            bins,
            ..Config::default()
        };
        let (rounds, launches, seconds) = match bins {
            Some(_) => (8, 1, self.args.short_seconds),
            None => (self.args.rounds, 4, self.args.seconds),
        };
        let line = self.pattern(program, pattern, rounds, launches, seconds, &config)?;
        let capture = Capture::open(&folder).map_err(capture_failure)?;
        let (mut captured, mut bus_bytes) = (0, 0);
        for timed in capture.replay() {
            match timed.event {
                HostEvent::LaunchEnd { end, .. } => captured += end.thread_accesses,
                HostEvent::Transport(transport) => bus_bytes += transport.bytes,
                _ => {}
            }
        }
        let accesses = line.integer("accesses");
        let expected = accesses + line.integer("warm_up");
        if protocol == Protocol::Thesis {
            bus_bytes = captured * 24;
        }
        let stored = folder_bytes(&folder);
        let _ = std::fs::remove_dir_all(&folder);
        let seconds = line.number("seconds");
        let rate = accesses as f64 / seconds;
        let bytes_per_access = bus_bytes as f64 / captured as f64;
        let mut untraced = results.native_accesses_per_second.iter();
        let untraced = untraced.find(|(name, _)| name == pattern);
        let untraced = untraced.map_or(f64::NAN, |(_, rate)| *rate);
        let mut rows = results.rows.iter();
        let thesis = rows.find(|row| row.protocol == Protocol::Thesis && row.pattern == pattern);
        Ok(Row {
            protocol,
            sink,
            pattern: pattern.to_owned(),
            bins,
            accesses,
            launches: line.integer("launches"),
            seconds,
            accesses_per_second: rate,
            bus_bytes,
            bus_bytes_per_second: rate * bytes_per_access,
            bus_bytes_per_access: bytes_per_access,
            stored_bytes_per_access: (sink == Sink::Disk).then(|| stored as f64 / captured as f64),
            slowdown: untraced / rate,
            lost: expected.abs_diff(captured),
            dma_share: rate * bytes_per_access / results.dma_bytes_per_second,
            times_thesis: thesis.map(|thesis| rate / thesis.accesses_per_second),
        })
    }
}

fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let bytes = entries.filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()));
    bytes.sum()
}
