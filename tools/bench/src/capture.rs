//! `superstep-bench capture`: speed of capturing accesses on a GPU.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use superstep_abi::{Config, RecordSink};
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code};
use superstep_harness::{Bundle, capture_failure};
use superstep_table::{Table, table};
use superstep_trace::{Capture, HostEvent, Protocol};

use crate::output::say_table;
use crate::run::{executables, figures, scratch, spec, succeed, summary};

const PATTERNS: [&str; 5] = ["coalesced", "strided", "broadcast", "scattered", "atomic"];
/// Destinations of the records; the `thesis` protocol supports only the last.
const SINKS: [(&str, RecordSink); 3] = [
    ("count", RecordSink::Count),
    ("memory", RecordSink::Memory),
    ("disk", RecordSink::Disk),
];
/// Number of bins with the `thesis` protocol.
const BINS: u32 = 64;
/// Rounds per launch with the `stream` protocol; each round performs 2.16 million accesses.
const ROUNDS: u32 = 512;
/// Duration of untraced programs, and of those traced with the `thesis` protocol.
const SHORT_SECONDS: f64 = 1.0;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundle of the suite `bench` (`superstep bundle bench --protocol NAME --out DIR`).
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Duration of each program with the `stream` protocol.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,
}

table! {
    /// One pattern with one sink.
    struct Row = "capture" {
        sink: &'static str = "destination of the records";
        pattern: &'static str = "access pattern";
        accesses_per_second: f64 ["accesses/s"] = "rate at which accesses are captured";
        bus_bytes_per_access: f64 ["bytes"] = "bytes transferred over the bus";
        stored_bytes_per_access: Option<f64> ["bytes"] = "bytes in the capture";
        slowdown: f64 = "time divided by the time of the same accesses without tracing";
        lost: u64 ["accesses"] = "accesses that did not arrive";
        dma_share: f64 = "bus bandwidth divided by that of copies to page-locked memory";
    }
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let bundle = Bundle::open(&args.bundle)?;
    let programs = executables(&bundle, "bench", "patterns")?;
    let (scratch, protocol) = (scratch()?, bundle.info.protocol);
    let bench = Bench {
        protocol,
        program: &programs.traced,
        seconds: args.seconds,
        scratch: scratch.path(),
    };
    let native = |pattern, rounds| {
        let config = Config::default();
        bench.pattern(&programs.native, pattern, rounds, SHORT_SECONDS, &config)
    };
    let dma = native("dma", [1, 1])?;
    let dma = dma.bytes / dma.seconds;
    say!("DMA to page-locked memory: {:.1} GB/s", dma / 1e9);
    let mut untraced = Vec::new();
    for pattern in PATTERNS {
        let figures = native(pattern, [ROUNDS, 4])?;
        let rate = figures.accesses as f64 / figures.seconds;
        say!("{pattern:10} untraced: {:.2} G accesses/s", rate / 1e9);
        untraced.push((pattern, rate));
    }
    let sinks = match protocol {
        Protocol::Thesis => &SINKS[2..],
        _ => &SINKS,
    };
    let mut rows = Vec::new();
    for &sink in sinks {
        for &untraced in &untraced {
            rows.push(bench.row(untraced, dma, sink)?);
        }
    }
    say_table(&Table::of(&rows));
    let device = summary(&bench.summary()).ok().map(|summary| summary.device);
    let device = serde_json::to_value(device).unwrap_or_default();
    say!("protocol: {protocol}; device: {device}");
    let lost: u64 = rows.iter().map(|row| row.lost).sum();
    if lost > 0 {
        bail!(
            Verification,
            "{lost} accesses did not arrive; see the table"
        );
    }
    Ok(exit_code::OK)
}

/// Figures that the program prints; `dma` prints bytes, and the other patterns print accesses.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Figures {
    seconds: f64,
    bytes: f64,
    accesses: u64,
    warm_up: u64,
}

struct Bench<'a> {
    protocol: Protocol,
    /// The traced program.
    program: &'a Path,
    seconds: f64,
    scratch: &'a Path,
}

impl Bench<'_> {
    fn summary(&self) -> PathBuf {
        self.scratch.join("summary.json")
    }

    fn pattern(
        &self,
        program: &Path,
        pattern: &str,
        [rounds, launches]: [u32; 2],
        seconds: f64,
        config: &Config,
    ) -> Result<Figures, Failure> {
        let arguments: [&dyn ToString; 4] = [&pattern, &rounds, &launches, &seconds];
        let ran = succeed(&spec(program, &arguments, config, self.scratch))?;
        match figures(&ran.stdout).into_iter().next() {
            Some(figures) => Ok(figures),
            None => bail!(
                Run,
                "{} printed no result: {}",
                program.display(),
                ran.stdout
            ),
        }
    }

    /// Measures a pattern. `rate` is its untraced rate; `dma` is the rate of copies, in bytes per second.
    fn row(
        &self,
        (pattern, rate): (&'static str, f64),
        dma: f64,
        (sink, record_sink): (&'static str, RecordSink),
    ) -> Result<Row, Failure> {
        let folder = self.scratch.join("capture");
        let is_thesis = self.protocol == Protocol::Thesis;
        let config = Config {
            protocol: Some(self.protocol),
            sink: record_sink,
            capture: Some(folder.clone()),
            summary: Some(self.summary()),
            bins: is_thesis.then_some(BINS),
            ..Config::default()
        };
        let (rounds, seconds) = match is_thesis {
            true => ([8, 1], SHORT_SECONDS),
            false => ([ROUNDS, 4], self.seconds),
        };
        let figures = self.pattern(self.program, pattern, rounds, seconds, &config)?;
        let capture = Capture::open(&folder).map_err(capture_failure)?;
        let (mut captured, mut bus_bytes) = (0, 0);
        for timed in capture.replay() {
            match timed.event {
                HostEvent::LaunchEnd { end, .. } => captured += end.thread_accesses,
                HostEvent::Transport(transport) => bus_bytes += transport.bytes,
                _ => {}
            }
        }
        if is_thesis {
            bus_bytes = captured * 24;
        }
        let stored = capture.stored_bytes().map_err(capture_failure)?;
        let _ = std::fs::remove_dir_all(&folder);
        let traced = figures.accesses as f64 / figures.seconds;
        let bytes_per_access = bus_bytes as f64 / captured as f64;
        say!("{sink} {pattern}: {:.3} G accesses/s", traced / 1e9);
        Ok(Row {
            sink,
            pattern,
            accesses_per_second: traced,
            bus_bytes_per_access: bytes_per_access,
            stored_bytes_per_access: (sink == "disk").then(|| stored as f64 / captured as f64),
            slowdown: rate / traced,
            lost: (figures.accesses + figures.warm_up).abs_diff(captured),
            dma_share: traced * bytes_per_access / dma,
        })
    }
}
