//! `superstep-bench links`: what goes from one GPU to another in a halo exchange, by the model of several GPUs, by traces, by the
//! program's own count and by NVLink's counters.

mod counters;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use superstep_abi::Config;
use superstep_analysis::analyse;
use superstep_analysis::communication::Options;
use superstep_analysis::metrics::{Metrics, Settings};
use superstep_build::compile::Executables;
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_harness::{Bundle, capture_failure};
use superstep_trace::{
    AccessGroup, Allocation, AllocationKind, Backend, Capture, HostEvent, LaunchRecord, Process,
    Summary, captures_in,
};

use crate::output::{Head, JsonArgs, output_of, say, scratch};
use counters::{Counters, CountersError, Traffic};

/// Name of the program in `suites/devices`.
const PROGRAM: &str = "halo";
const WAYS: [&str; 4] = ["peer", "copies", "managed", "processes"];
/// Smallest transfer between GPUs.
const SECTOR_BYTES: u64 = 32;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundle of the suite `devices` (`superstep bundle devices --out DIR`).
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Ways in which the two halves exchange their borders, comma-separated [default: peer,copies,managed, on a GPU also processes].
    #[arg(long, value_name = "WAYS", value_delimiter = ',')]
    ways: Vec<String>,
    #[command(flatten)]
    size: Size,
    #[command(flatten)]
    json: JsonArgs,
}

/// The program's arguments. Long rows make the exchange large and the rest small.
#[derive(Debug, Clone, Copy, Serialize, clap::Args)]
struct Size {
    #[arg(long, value_name = "N", default_value_t = 48)]
    rows: u32,
    #[arg(long, value_name = "N", default_value_t = 16384)]
    columns: u32,
    /// Launches on each device; the borders are exchanged once less.
    #[arg(long, value_name = "N", default_value_t = 100)]
    launches: u32,
    /// Rows that a border has, and time steps of a launch.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pyramid: u32,
}

/// Bytes from one device to another in a whole run, both directions together.
#[derive(Debug, Default, Serialize)]
struct Row {
    way: String,
    /// By the program's own count.
    program_bytes: u64,
    #[serde(flatten)]
    trace: Traced,
    /// Received and sent by each GPU, by NVLink's counters, in the run without a trace.
    nvlink: Option<Vec<Traffic>>,
}

/// [`Row`] by the trace.
#[derive(Debug, Default, Serialize)]
struct Traced {
    /// Copies of the host.
    copied_bytes: u64,
    /// Accesses to memory of another device, each lane counted.
    accessed_bytes: u64,
    /// The sectors that each group of such accesses touches.
    sector_bytes: u64,
    /// Transfers between CTAs on different devices.
    transferred_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Results {
    #[serde(flatten)]
    head: Head,
    device: Value,
    size: Size,
    /// The model's prediction for two GPUs and a cut in y, from the trace of the uncut program.
    model_bytes: u64,
    no_counters: Option<String>,
    rows: Vec<Row>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let bundle = Bundle::open(&args.bundle)?;
    if !bundle.info.benchmarks.iter().any(|name| name == PROGRAM) {
        let folder = args.bundle.display();
        let message =
            format!("failed to find {PROGRAM} in {folder}: give a bundle of the suite devices");
        return Err(Failure::new(FailureKind::Usage, message));
    }
    let mut links = Links {
        size: args.size,
        program: bundle.executables(PROGRAM)?,
        backend: bundle.info.backend,
        counters: Counters::find(),
        device: Value::Null,
    };
    // The CPU backend shares no memory between processes.
    let all = WAYS.iter().take(match links.backend {
        Backend::Cpu => 3,
        Backend::Cuda => 4,
    });
    let ways = if args.ways.is_empty() {
        all.map(|&way| way.to_owned()).collect()
    } else {
        args.ways.clone()
    };
    let (mut uncut, traces) = links.row("peer", 1)?;
    uncut.way = "one device".to_owned();
    let model_bytes = predicted(&traces.captures)?;
    let mut rows = vec![uncut];
    for way in &ways {
        rows.push(links.row(way, 2)?.0);
    }
    let results = Results {
        head: Head::now(),
        device: links.device,
        size: args.size,
        model_bytes,
        no_counters: links.counters.err().map(|error| error.to_string()),
        rows,
    };
    print(&results);
    args.json.write(&results)?;
    Ok(exit_code::OK)
}

struct Links {
    size: Size,
    program: Executables,
    backend: Backend,
    counters: Result<Counters, CountersError>,
    device: Value,
}

/// The captures of a run, one for each process, and the folder that goes with them.
struct Traces {
    captures: Vec<Capture>,
    _folder: tempfile::TempDir,
}

impl Links {
    fn row(&mut self, way: &str, parts: u32) -> Result<(Row, Traces), Failure> {
        let before = self.count()?;
        let program_bytes = self.start(&self.program.native, way, parts, Config::default())?;
        let after = self.count()?;
        let nvlink = before.zip(after).map(|(before, after)| {
            let pairs = before.iter().zip(&after);
            pairs.map(|(before, after)| *after - *before).collect()
        });
        let traces = self.traced(way, parts)?;
        let mut trace = Traced::default();
        for capture in &traces.captures {
            trace = trace.and(traced(capture)?);
        }
        let row = Row {
            way: way.to_owned(),
            program_bytes,
            trace,
            nvlink,
        };
        Ok((row, traces))
    }

    fn traced(&mut self, way: &str, parts: u32) -> Result<Traces, Failure> {
        let folder = scratch()?;
        let at = |name: &str| folder.path().join(name);
        let (captured, summaries) = (at("captures"), at("summaries"));
        std::fs::create_dir(&summaries).map_err(Failure::io("make", &summaries))?;
        let config = Config {
            capture: Some(captured.join(Process::PLACE)),
            summary: Some(summaries.join(Process::PLACE)),
            ..Config::default()
        };
        self.start(&self.program.traced, way, parts, config)?;
        let mut problems = Vec::new();
        let entries = std::fs::read_dir(&summaries).map_err(Failure::io("read", &summaries))?;
        for entry in entries {
            let path = entry.map_err(Failure::io("read", &summaries))?.path();
            let summary = Summary::read(&path).map_err(capture_failure)?;
            if self.device.is_null() {
                self.device = serde_json::to_value(&summary.device).unwrap_or_default();
            }
            problems.extend(summary.faults);
        }
        let captures = captures_in(&captured).map_err(capture_failure)?;
        let captures: Vec<Capture> = (captures.iter().map(Capture::open))
            .collect::<Result<_, _>>()
            .map_err(capture_failure)?;
        problems.extend(captures.iter().flat_map(|it| it.problems.iter().cloned()));
        if let Some(problem) = problems.first() {
            let message = format!("the trace of {way} is not whole: {problem}");
            return Err(Failure::new(FailureKind::Verification, message));
        }
        Ok(Traces {
            captures,
            _folder: folder,
        })
    }

    fn count(&self) -> Result<Option<Vec<Traffic>>, Failure> {
        (self.counters.as_ref().ok())
            .map(Counters::read)
            .transpose()
    }

    /// Runs the program, which checks its own result, and returns the bytes that it counted.
    fn start(
        &self,
        program: &Path,
        way: &str,
        parts: u32,
        mut config: Config,
    ) -> Result<u64, Failure> {
        let Size {
            rows,
            columns,
            launches,
            pyramid,
        } = self.size;
        let mut command = Command::new(program);
        if self.backend == Backend::Cpu {
            config.cpu_devices = Some(2);
        }
        command
            .arg(way)
            .args([parts, rows, columns, launches, pyramid].map(|number| number.to_string()))
            .envs(config.to_env());
        let text = output_of(&mut command)?;
        let counted = (text.lines())
            .find_map(|line| line.strip_prefix(way)?.strip_prefix(": "))
            .and_then(|rest| rest.split(' ').next()?.parse().ok());
        counted.ok_or_else(|| {
            let message = format!("{} {way} printed no sum: {text}", program.display());
            Failure::new(FailureKind::Run, message)
        })
    }
}

/// The model's prediction from an uncut program.
fn predicted(captures: &[Capture]) -> Result<u64, Failure> {
    let Some(capture) = captures.first() else {
        return Ok(0);
    };
    let failed = |error| Failure::internal("analyse the capture", error);
    let analysis = analyse(capture, Options::everything()).map_err(failed)?;
    let metrics = Metrics::new(&analysis, capture.sites(), &Settings::default()).map_err(failed)?;
    let row = (metrics.scaling.iter()).find(|row| row.gpus == 2 && row.cut == "y");
    Ok(row.map_or(0, |row| row.crossing_bytes))
}

fn traced(capture: &Capture) -> Result<Traced, Failure> {
    let accesses = capture
        .par_fold(
            Traced::default,
            |sum, record, group| sum.add(record, group),
            Traced::and,
        )
        .map_err(capture_failure)?;
    let mut copied_bytes = 0;
    for timed in capture.replay() {
        if let HostEvent::Copy(copy) = timed.event {
            let device = |address: u64| {
                let holds = |it: &&Allocation| {
                    let lives = it.sequence < copy.sequence
                        && it.freed.is_none_or(|freed| copy.sequence < freed);
                    it.kind == AllocationKind::Device && lives && it.offset_of(address).is_some()
                };
                capture.allocations().iter().find(holds).map(|it| it.device)
            };
            let ends = device(copy.source).zip(device(copy.destination));
            if ends.is_some_and(|(from, to)| from != to) {
                copied_bytes += copy.bytes;
            }
        }
    }
    let options = Options {
        transfers: true,
        ..Options::default()
    };
    let analysis = analyse(capture, options)
        .map_err(|error| Failure::internal("analyse the capture", error))?;
    let devices: Vec<u32> = capture.launches().map(|one| one.launch.device).collect();
    let mut transferred_bytes = 0;
    (analysis.communication.transfers)
        .each(|transfer| {
            let device = |launch: u32| devices.get(launch as usize);
            if device(transfer.source_launch) != device(transfer.receiver_launch) {
                transferred_bytes += transfer.bytes;
            }
        })
        .map_err(|error| Failure::internal("read the transfers", error))?;
    Ok(Traced {
        copied_bytes,
        transferred_bytes,
        ..accesses
    })
}

impl Traced {
    fn and(self, other: Self) -> Self {
        Self {
            copied_bytes: self.copied_bytes + other.copied_bytes,
            accessed_bytes: self.accessed_bytes + other.accessed_bytes,
            sector_bytes: self.sector_bytes + other.sector_bytes,
            transferred_bytes: self.transferred_bytes + other.transferred_bytes,
        }
    }

    /// Adds a group's accesses to memory of another device.
    fn add(&mut self, record: &LaunchRecord<'_>, group: &AccessGroup) {
        let width = u64::from(group.width_bytes);
        let is_remote = |address: &u64| {
            let allocation = record.allocations.find(*address);
            allocation.is_some_and(|it| match it.kind {
                AllocationKind::Device => it.device != record.launch.device,
                // Each process has a device of its own.
                AllocationKind::Imported => true,
                _ => false,
            })
        };
        let mut sectors = BTreeSet::new();
        for address in (group.active_addresses().iter()).filter(|it| is_remote(it)) {
            self.accessed_bytes += width;
            sectors.extend(address / SECTOR_BYTES..=(address + width.max(1) - 1) / SECTOR_BYTES);
        }
        self.sector_bytes += SECTOR_BYTES * sectors.len() as u64;
    }
}

fn print(results: &Results) {
    let Results {
        size, model_bytes, ..
    } = results;
    say(format_args!(
        "{} rows of {} cells, {} launches on each device, borders of {} rows; device: {}",
        size.rows, size.columns, size.launches, size.pyramid, results.device
    ));
    say(format_args!(
        "model, from one device, two GPUs, cut in y: {model_bytes} bytes\n"
    ));
    say(format_args!(
        "way             program       copies     accesses      sectors    transfers  NVLink recv.   NVLink sent   model's error"
    ));
    for row in &results.rows {
        let Traced {
            copied_bytes,
            accessed_bytes,
            sector_bytes,
            transferred_bytes,
        } = row.trace;
        let sum = |of: fn(&Traffic) -> u64| {
            let all = row.nvlink.as_ref()?;
            Some(all.iter().map(of).sum::<u64>())
        };
        let (received, sent) = (sum(|it| it.received_bytes), sum(|it| it.sent_bytes));
        let text = |bytes: Option<u64>| bytes.map_or("-".to_owned(), |bytes| bytes.to_string());
        let error = received.filter(|_| row.program_bytes > 0).map(|received| {
            let error = *model_bytes as f64 / received as f64 - 1.0;
            format!("{:+.1} %", 100.0 * error)
        });
        say(format_args!(
            "{:10} {:12} {copied_bytes:12} {accessed_bytes:12} {sector_bytes:12} {transferred_bytes:12} {:>13} {:>13} {:>15}",
            row.way,
            row.program_bytes,
            text(received),
            text(sent),
            error.unwrap_or("-".to_owned())
        ));
    }
    if let Some(why) = &results.no_counters {
        say(format_args!("no counters: {why}"));
    }
}
