//! `superstep-bench capture`: speed of capturing accesses on a GPU, by protocol, in one run on one device.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use superstep_abi::{Config, RecordSink};
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code};
use superstep_harness::{Bundle, capture_failure};
use superstep_table::table;
use superstep_trace::{Capture, HostEvent, Protocol};

use crate::output::{Head, JsonArgs, say_table};
use crate::run::{executables, figures, scratch, spec, succeed, summary};

const PATTERNS: [&str; 5] = ["coalesced", "strided", "broadcast", "scattered", "atomic"];
/// Destinations of the records with the protocol `stream`.
const SINKS: [(&str, RecordSink); 3] = [
    ("count", RecordSink::Count),
    ("memory", RecordSink::Memory),
    ("disk", RecordSink::Disk),
];
/// Numbers of bins to try with the protocol `thesis`; the best result counts.
const BINS: [u32; 3] = [32, 64, 128];
/// Rounds per launch with the protocol `stream`: 2.16 million accesses each.
const ROUNDS: u32 = 512;
/// Duration of programs without the protocol `stream`.
const SHORT_SECONDS: f64 = 1.0;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundles of the suite `bench`, one per protocol (`superstep bundle bench --protocol NAME --out DIR`).
    #[arg(value_name = "BUNDLE", required = true)]
    bundles: Vec<PathBuf>,
    /// Duration of each program with the protocol `stream`.
    #[arg(long, value_name = "SECONDS", default_value_t = 3.0)]
    seconds: f64,
    #[command(flatten)]
    json: JsonArgs,
}

table! {
    /// One pattern, with one protocol and sink.
    struct Row = "capture": Serialize {
        protocol: String = "how the records leave the GPU";
        sink: &'static str = "where the records end up";
        pattern: &'static str = "access pattern";
        bins: Option<u64> = "bins of the protocol `thesis`";
        accesses: u64 ["accesses"] = "thread accesses";
        launches: u64 = "kernel launches";
        seconds: f64 ["s"] = "time of the launches";
        accesses_per_second: f64 ["accesses/s"] = "captured";
        bus_bytes: u64 ["bytes"] = "over the bus";
        bus_bytes_per_second: f64 ["bytes/s"] = "over the bus";
        bus_bytes_per_access: f64 ["bytes"] = "over the bus";
        stored_bytes_per_access: Option<f64> ["bytes"] = "in the capture";
        slowdown: f64 = "time divided by that of the same accesses without a trace";
        lost: u64 ["accesses"] = "accesses that did not arrive";
        dma_share: f64 = "bus bytes per second divided by those of copies to page-locked memory";
        times_thesis: Option<f64> = "accesses per second divided by those of the protocol `thesis`";
    }
}

#[derive(Debug, Serialize)]
struct Results {
    #[serde(flatten)]
    head: Head,
    device: Value,
    dma_bytes_per_second: f64,
    native_accesses_per_second: Vec<(&'static str, f64)>,
    rows: Vec<Row>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let mut bundles = Vec::new();
    for folder in &args.bundles {
        let bundle = Bundle::open(folder)?;
        let programs = executables(&bundle, "bench", "patterns")?;
        bundles.push((bundle.info.protocol, programs));
    }
    // The protocol `thesis` comes first, as the others are compared with it.
    bundles.sort_by_key(|(protocol, _)| *protocol != Protocol::Thesis);
    let native = &bundles[0].1.native;
    let scratch = scratch()?;
    let mut bench = Bench {
        seconds: args.seconds,
        scratch: scratch.path(),
        results: Results {
            head: Head::now(),
            device: Value::Null,
            dma_bytes_per_second: f64::NAN,
            native_accesses_per_second: Vec::new(),
            rows: Vec::new(),
        },
    };
    let dma = bench.pattern(native, "dma", [1, 1], SHORT_SECONDS, &Config::default())?;
    let dma = dma.number("bytes") / dma.number("seconds");
    say!("DMA to page-locked memory: {:.1} GB/s", dma / 1e9);
    bench.results.dma_bytes_per_second = dma;
    for pattern in PATTERNS {
        let config = Config::default();
        let line = bench.pattern(native, pattern, [ROUNDS, 4], SHORT_SECONDS, &config)?;
        let rate = line.number("accesses") / line.number("seconds");
        bench
            .results
            .native_accesses_per_second
            .push((pattern, rate));
        say!("{pattern:10} untraced: {:.2} G accesses/s", rate / 1e9);
    }
    for &(protocol, ref programs) in &bundles {
        match protocol {
            Protocol::Thesis => bench.thesis(&programs.traced)?,
            _ => bench.sinks(protocol, &programs.traced)?,
        }
    }
    let results = &mut bench.results;
    if let Ok(summary) = summary(&scratch.path().join("summary.json")) {
        results.device = serde_json::to_value(summary.device).unwrap_or_default();
    }
    let hidden = [
        "accesses",
        "launches",
        "seconds",
        "bus_bytes",
        "bus_bytes_per_second",
    ];
    say_table(&results.rows, &hidden);
    say!("device: {}", results.device);
    args.json.write(results)?;
    let lost: u64 = results.rows.iter().map(|row| row.lost).sum();
    if lost > 0 {
        bail!(
            Verification,
            "{lost} accesses did not arrive; see the table"
        );
    }
    Ok(exit_code::OK)
}

struct ProgramOutput(Value);

impl ProgramOutput {
    fn number(&self, key: &str) -> f64 {
        self.0.get(key).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    fn integer(&self, key: &str) -> u64 {
        self.0.get(key).and_then(Value::as_u64).unwrap_or(0)
    }
}

struct Bench<'a> {
    seconds: f64,
    scratch: &'a Path,
    results: Results,
}

impl Bench<'_> {
    /// Measures the patterns with the thesis's protocol, using the number of bins that is best for the first pattern.
    fn thesis(&mut self, program: &Path) -> Result<(), Failure> {
        let mut tried = BINS.to_vec();
        for pattern in PATTERNS {
            let mut rows = Vec::new();
            for &bins in &tried {
                rows.push(self.row(program, pattern, Protocol::Thesis, SINKS[2], Some(bins))?);
            }
            let best = (0..rows.len()).max_by(|&a, &b| {
                let rate = |at: usize| rows[at].accesses_per_second;
                rate(a).total_cmp(&rate(b))
            });
            if let Some(best) = best {
                tried = vec![tried[best]];
                self.results.rows.push(rows.swap_remove(best));
            }
        }
        Ok(())
    }

    fn sinks(&mut self, protocol: Protocol, program: &Path) -> Result<(), Failure> {
        for sink in SINKS {
            for pattern in PATTERNS {
                let row = self.row(program, pattern, protocol, sink, None)?;
                self.results.rows.push(row);
            }
        }
        Ok(())
    }

    fn pattern(
        &self,
        program: &Path,
        pattern: &str,
        [rounds, launches]: [u32; 2],
        seconds: f64,
        config: &Config,
    ) -> Result<ProgramOutput, Failure> {
        let arguments: [&dyn ToString; 4] = [&pattern, &rounds, &launches, &seconds];
        let ran = succeed(&spec(program, &arguments, config, self.scratch))?;
        match figures(&ran.stdout).into_iter().next() {
            Some(line) => Ok(ProgramOutput(line)),
            None => bail!(
                Run,
                "{} printed no result: {}",
                program.display(),
                ran.stdout
            ),
        }
    }

    fn row(
        &self,
        program: &Path,
        pattern: &'static str,
        protocol: Protocol,
        (sink, record_sink): (&'static str, RecordSink),
        bins: Option<u32>,
    ) -> Result<Row, Failure> {
        let folder = self.scratch.join("capture");
        let config = Config {
            protocol: Some(protocol),
            sink: record_sink,
            capture: Some(folder.clone()),
            summary: Some(self.scratch.join("summary.json")),
            bins,
            ..Config::default()
        };
        let (rounds, seconds) = match bins {
            Some(_) => ([8, 1], SHORT_SECONDS),
            None => ([ROUNDS, 4], self.seconds),
        };
        let line = self.pattern(program, pattern, rounds, seconds, &config)?;
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
        let stored = capture.stored_bytes().map_err(capture_failure)?;
        let _ = std::fs::remove_dir_all(&folder);
        let seconds = line.number("seconds");
        let rate = accesses as f64 / seconds;
        let bytes_per_access = bus_bytes as f64 / captured as f64;
        let mut untraced = self.results.native_accesses_per_second.iter();
        let untraced = untraced.find(|(name, _)| *name == pattern);
        let mut rows = self.results.rows.iter();
        let thesis = rows.find(|row| row.bins.is_some() && row.pattern == pattern);
        say!(
            "{protocol} {sink} {pattern}: {:.3} G accesses/s",
            rate / 1e9
        );
        Ok(Row {
            protocol: protocol.to_string(),
            sink,
            pattern,
            bins: bins.map(u64::from),
            accesses,
            launches: line.integer("launches"),
            seconds,
            accesses_per_second: rate,
            bus_bytes,
            bus_bytes_per_second: rate * bytes_per_access,
            bus_bytes_per_access: bytes_per_access,
            stored_bytes_per_access: (sink == "disk").then(|| stored as f64 / captured as f64),
            slowdown: untraced.map_or(f64::NAN, |(_, rate)| *rate) / rate,
            lost: expected.abs_diff(captured),
            dma_share: rate * bytes_per_access / self.results.dma_bytes_per_second,
            times_thesis: thesis.map(|thesis| rate / thesis.accesses_per_second),
        })
    }
}
