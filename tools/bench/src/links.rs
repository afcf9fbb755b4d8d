//! `superstep-bench links`: bytes that a halo exchange transfers between two GPUs, according to the multi-GPU model,
//! traces, the program's own count and NVLink's counters.

mod counters;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use superstep_abi::Config;
use superstep_analysis::analyse;
use superstep_analysis::communication::Options;
use superstep_analysis::metrics::{Metrics, Settings};
use superstep_build::compile::Executables;
use superstep_build::failure::Failure;
use superstep_build::{bail, exit_code};
use superstep_harness::{Bundle, capture_failure};
use superstep_table::{Table, table};
use superstep_trace::{
    AccessGroup, Allocation, AllocationKind, Backend, Capture, HostEvent, LaunchRecord, Process,
    add_assign, captures_in,
};

use crate::output::say_table;
use crate::run::{executables, scratch, spec, succeed, summary};
use counters::Traffic;

/// Ways in which the two halves of the program `halo` exchange halos. The last one needs memory shared between
/// processes, which the CPU backend does not support.
const WAYS: [&str; 4] = ["peer", "copies", "managed", "processes"];
/// Rows per halo, and time steps per launch.
const PYRAMID: u32 = 2;
/// Size of the smallest transfer between GPUs.
const SECTOR_BYTES: u64 = 32;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundle of the suite `devices` (`superstep bundle devices --out DIR`).
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    #[command(flatten)]
    size: Size,
}

/// Arguments of the program. Long rows make the exchange large compared with other traffic.
#[derive(Debug, Clone, Copy, clap::Args)]
struct Size {
    #[arg(long, value_name = "N", default_value_t = 48)]
    rows: u32,
    #[arg(long, value_name = "N", default_value_t = 16384)]
    columns: u32,
    /// Launches on each device; there is one fewer exchange.
    #[arg(long, value_name = "N", default_value_t = 100)]
    launches: u32,
}

table! {
    /// One way to exchange halos: bytes between the devices in a whole run, in both directions.
    struct Row = "links" {
        way: String = "method of exchanging halos";
        program_bytes: u64 ["bytes"] = "bytes that the program itself counted";
        trace: Traced;
        nvlink_received_bytes: Option<u64> ["bytes"] = "bytes received in the untraced run, by NVLink's counters";
        nvlink_sent_bytes: Option<u64> ["bytes"] = "bytes sent in the untraced run, by NVLink's counters";
        model_error_percent: Option<f64> ["%"] = "error of the model, relative to the bytes received";
    }
}

table! {
    /// Columns of [`Row`] that come from the trace.
    struct Traced {
        copied_bytes: u64 ["bytes"] = "bytes copied by the host";
        accessed_bytes: u64 ["bytes"] = "bytes accessed in another device's memory, counting each lane";
        sector_bytes: u64 ["bytes"] = "bytes in the sectors that each group of these accesses touches";
        transferred_bytes: u64 ["bytes"] = "bytes transferred between CTAs on different devices";
    }
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let bundle = Bundle::open(&args.bundle)?;
    let mut links = Links {
        size: args.size,
        program: executables(&bundle, "devices", "halo")?,
        backend: bundle.info.backend,
        counters: counters::read().map(drop),
        device: Value::Null,
    };
    let ways = match links.backend {
        Backend::Cpu => &WAYS[..3],
        Backend::Cuda => &WAYS,
    };
    let (mut uncut, (captures, _folder)) = links.row("peer", 1)?;
    uncut.way = "one device".to_owned();
    let model_bytes = predicted(&captures)?;
    let mut rows = vec![uncut];
    for way in ways {
        let mut row = links.row(way, 2)?.0;
        let received = row.nvlink_received_bytes.filter(|_| row.program_bytes > 0);
        row.model_error_percent =
            received.map(|received| 100.0 * (model_bytes as f64 / received as f64 - 1.0));
        rows.push(row);
    }
    let (size, device) = (args.size, links.device);
    say!(
        "{} rows of {} cells, {} launches on each device, halos of {PYRAMID} rows; device: {device}",
        size.rows,
        size.columns,
        size.launches
    );
    say!("model of two GPUs, from one device's trace, cut in y: {model_bytes} bytes\n");
    say_table(&Table::of(&rows));
    if let Err(why) = links.counters {
        say!("no NVLink counters: {why}");
    }
    Ok(exit_code::OK)
}

struct Links {
    size: Size,
    program: Executables,
    backend: Backend,
    counters: Result<(), Failure>,
    device: Value,
}

/// The captures of a run, one per process, and their folder.
type Traces = (Vec<Capture>, tempfile::TempDir);

impl Links {
    fn row(&mut self, way: &str, parts: u32) -> Result<(Row, Traces), Failure> {
        let before = self.count()?;
        let folder = scratch()?;
        let config = Config::default();
        let program_bytes = self.start(&self.program.native, way, parts, config, folder.path())?;
        let after = self.count()?;
        let counted = before.zip(after).map(|(before, after)| after.since(before));
        let (captures, captures_folder) = self.traced(way, parts)?;
        let mut trace = Traced::default();
        for capture in &captures {
            trace += traced(capture)?;
        }
        let row = Row {
            way: way.to_owned(),
            program_bytes,
            trace,
            nvlink_received_bytes: counted.map(|it| it.received_bytes),
            nvlink_sent_bytes: counted.map(|it| it.sent_bytes),
            model_error_percent: None,
        };
        Ok((row, (captures, captures_folder)))
    }

    fn traced(&mut self, way: &str, parts: u32) -> Result<Traces, Failure> {
        let folder = scratch()?;
        let [captured, summaries] = ["captures", "summaries"].map(|name| folder.path().join(name));
        std::fs::create_dir(&summaries).map_err(Failure::io("create", &summaries))?;
        let config = Config {
            capture: Some(captured.join(Process::PLACE)),
            summary: Some(summaries.join(Process::PLACE)),
            ..Config::default()
        };
        self.start(&self.program.traced, way, parts, config, folder.path())?;
        let mut problems = Vec::new();
        let entries = std::fs::read_dir(&summaries).map_err(Failure::io("read", &summaries))?;
        for entry in entries {
            let summary = summary(&entry.map_err(Failure::io("read", &summaries))?.path())?;
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
            bail!(Verification, "the trace of {way} is incomplete: {problem}");
        }
        Ok((captures, folder))
    }

    fn count(&self) -> Result<Option<Traffic>, Failure> {
        let is_counted = self.counters.is_ok();
        is_counted.then(counters::read).transpose()
    }

    /// Runs the program, which checks its own result, in `folder`. Returns the bytes that it counted.
    fn start(
        &self,
        program: &Path,
        way: &str,
        parts: u32,
        mut config: Config,
        folder: &Path,
    ) -> Result<u64, Failure> {
        if self.backend == Backend::Cpu {
            config.cpu_devices = Some(2);
        }
        let size = &self.size;
        let arguments: [&dyn ToString; 6] = [
            &way,
            &parts,
            &size.rows,
            &size.columns,
            &size.launches,
            &PYRAMID,
        ];
        let text = succeed(&spec(program, &arguments, &config, folder))?.stdout;
        let counted = (text.lines())
            .find_map(|line| line.strip_prefix(way)?.strip_prefix(": "))
            .and_then(|rest| rest.split(' ').next()?.parse().ok());
        match counted {
            Some(bytes) => Ok(bytes),
            None => bail!(Run, "{} {way} printed no sum: {text}", program.display()),
        }
    }
}

/// Returns the model's prediction for two GPUs and a cut in y, from the trace of the uncut program.
fn predicted(captures: &[Capture]) -> Result<u64, Failure> {
    let Some(capture) = captures.first() else {
        return Ok(0);
    };
    let analysis = analyse(capture, Options::everything()).map_err(capture_failure)?;
    let metrics = Metrics::new(&analysis, capture.sites(), &Settings::default());
    let metrics = metrics.map_err(capture_failure)?;
    let row = (metrics.scaling.iter()).find(|row| row.gpus == 2 && row.cut == "y");
    Ok(row.map_or(0, |row| row.crossing_bytes))
}

fn traced(capture: &Capture) -> Result<Traced, Failure> {
    let sum = |mut all: Traced, other| {
        all += other;
        all
    };
    let accesses = capture.par_fold(Traced::default, Traced::add, sum);
    let accesses = accesses.map_err(capture_failure)?;
    let mut copied_bytes = 0;
    for timed in capture.replay() {
        if let HostEvent::Copy(copy) = timed.event {
            let device = |address: u64| {
                let contains = |it: &&Allocation| {
                    let is_live = it.sequence < copy.sequence
                        && it.freed.is_none_or(|freed| copy.sequence < freed);
                    it.kind == AllocationKind::Device && is_live && it.offset_of(address).is_some()
                };
                let mut allocations = capture.allocations().iter();
                allocations.find(contains).map(|it| it.device)
            };
            let ends = device(copy.source).zip(device(copy.destination));
            if ends.is_some_and(|(from, to)| from != to) {
                copied_bytes += copy.bytes;
            }
        }
    }
    let analysis = analyse(capture, Options::transfers()).map_err(capture_failure)?;
    let devices: Vec<u32> = capture.launches().map(|it| it.launch.device).collect();
    let mut transferred_bytes = 0;
    (analysis.communication.transfers)
        .each(|transfer| {
            let device = |launch: u32| devices.get(launch as usize);
            if device(transfer.source_launch) != device(transfer.receiver_launch) {
                transferred_bytes += transfer.bytes;
            }
        })
        .map_err(capture_failure)?;
    Ok(Traced {
        copied_bytes,
        transferred_bytes,
        ..accesses
    })
}

add_assign!(Traced: copied_bytes, accessed_bytes, sector_bytes, transferred_bytes);

impl Traced {
    /// Adds a group's accesses to memory of other devices.
    fn add(&mut self, record: &LaunchRecord<'_>, group: &AccessGroup) {
        let width = u64::from(group.width_bytes);
        let is_remote = |address: &u64| {
            let allocation = record.allocations.find(*address);
            allocation.is_some_and(|it| match it.kind {
                AllocationKind::Device => it.device != record.launch.device,
                // Each process uses its own device.
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
