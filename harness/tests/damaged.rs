//! Damaged captures: whatever the damage, each command that reads one exits within a time limit, with a documented code.
//!
//! `SUPERSTEP_DAMAGED_CAPTURES` sets their number (200 by default), and `SUPERSTEP_DAMAGE_SEED` sets the seed.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::table;
use rayon::prelude::*;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{AccessGroup, AllocationKind, CopyDirection, Event, Gap, Launch, StreamId};

/// Limit on a command's CPU time.
const PROCESSOR_LIMIT_S: u64 = 5;

/// Limit on a command's wall time, with a margin for busy machines.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Limit on a command's address space.
const MEMORY_LIMIT_KIB: u64 = 2 << 20;

/// Documented exit codes: success, verification failure, damaged capture, incomplete capture.
const ALLOWED: [i32; 4] = [0, 7, 8, 9];

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Writes a capture of three launches in two streams, with events of every kind.
fn write_capture(folder: &Path) {
    const BASE: u64 = 0x7f00_0000_0000;
    let mut capture = CaptureBuilder::new(folder, &table()).with_clock();
    let symbol = AllocationKind::Symbol {
        name: "table".into(),
    };
    let array = capture.allocate(BASE, 64 << 10, AllocationKind::Device);
    capture.allocate(BASE + (1 << 20), 64 << 10, AllocationKind::Managed);
    capture.allocate(BASE + (2 << 20), 64 << 10, symbol);
    capture.memset(BASE, 4096, 0);
    for stream in [0, 1, 0] {
        let launch = capture.begin(Launch {
            stream: StreamId(stream),
            grid: [8, 2, 1],
            static_shared_bytes: 64,
            ..testing::launch("_Z5twicePfi", 1, 64)
        });
        for part in 0..3u64 {
            let mut groups = Vec::new();
            for cta in 0..16 {
                for (local, width_bytes) in [(0, 4), (1, 4), (2, 8)] {
                    let first = BASE + (part << 20) + u64::from(cta) * 256;
                    let step = if local == 0 { 52 } else { 8 };
                    groups.push(AccessGroup {
                        warp: cta % 2,
                        mask: 0xffff_00ff,
                        width_bytes,
                        ..testing::group(local, cta, (0..32).map(|lane| first + step * lane))
                    });
                }
            }
            capture.chunk(&launch, &groups);
        }
        capture.end(&launch);
    }
    capture.copy(CopyDirection::DeviceToHost, 64, BASE, 4096);
    capture.event(&Event::Gap(Gap::ArrayCopy));
    capture.free(array);
    capture.finish();
}

/// Damages one file of the capture in `folder`. Returns a description.
fn damage(folder: &Path, random: &mut Random) -> String {
    let files = ["events.sst", "stream-0.sst", "stream-1.sst"];
    let name = files[random.below(files.len())];
    let path = folder.join(name);
    let Ok(mut bytes) = fs::read(&path) else {
        return format!("{name}: already removed");
    };
    let at = random.below(bytes.len());
    let length = 1 + random.below(64);
    let what = match random.below(5) {
        0 => {
            bytes.truncate(at);
            format!("cut off at byte {at}")
        }
        1 => {
            let count = 1 + random.below(8);
            for number in 0..count {
                let at = if number == 0 {
                    at
                } else {
                    random.below(bytes.len())
                };
                bytes[at] ^= 1 + random.below(255) as u8;
            }
            format!("{count} bytes changed, the first at {at}")
        }
        2 => {
            bytes.drain(at..bytes.len().min(at + length));
            format!("{length} bytes removed at {at}")
        }
        3 => {
            let more: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
            bytes.splice(at..at, more);
            format!("{length} bytes inserted at {at}")
        }
        _ => {
            fs::remove_file(&path).unwrap();
            return format!("{name}: removed");
        }
    };
    fs::write(&path, bytes).unwrap();
    format!("{name}: {what}")
}

/// Returns every format that the help of `superstep export` lists.
fn formats() -> Vec<String> {
    let help = Command::new(env!("CARGO_BIN_EXE_superstep"))
        .args(["export", "-h"])
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let list = regex::Regex::new(r"(?s)Format to write\s+\[possible values: ([^\]]+)\]").unwrap();
    let list = list.captures(&help).unwrap_or_else(|| panic!("{help}"));
    let formats: Vec<_> = (list[1].split(',').map(|name| name.trim().to_owned())).collect();
    assert!(formats.len() >= 7, "{formats:?}");
    formats
}

/// Runs `superstep` with limited time and memory. Returns its exit code and standard error.
fn run(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let errors = folder.join("errors");
    let start = Instant::now();
    let mut child = Command::new("sh")
        .args([
            "-c",
            &format!("ulimit -v {MEMORY_LIMIT_KIB}; ulimit -t {PROCESSOR_LIMIT_S}; exec \"$@\""),
            "sh",
        ])
        .arg(env!("CARGO_BIN_EXE_superstep"))
        .args(arguments)
        .current_dir(folder)
        .env("RAYON_NUM_THREADS", "2")
        .stdout(Stdio::null())
        .stderr(fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (
                status.code().unwrap_or(-1),
                fs::read_to_string(&errors).unwrap(),
            );
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            return (-1, format!("it did not exit within {TIME_LIMIT:?}"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn every_command_exits_in_time_with_a_documented_code() {
    let count = number("SUPERSTEP_DAMAGED_CAPTURES", 200);
    let seed = number("SUPERSTEP_DAMAGE_SEED", 1);
    let intact = tempfile::tempdir().unwrap();
    write_capture(&intact.path().join("capture"));
    let mut commands: Vec<Vec<String>> = ["info", "dump", "verify"]
        .map(|name| vec![name.to_owned(), "capture".to_owned()])
        .into();
    for format in formats() {
        let arguments = ["export", "capture", "--format", &format, "-o", "out"];
        commands.push(arguments.map(str::to_owned).into());
    }
    for command in &commands {
        let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        let (code, errors) = run(intact.path(), &arguments);
        assert_eq!(code, 0, "{command:?} of the intact capture: {errors}");
    }
    let case = |number: u64| {
        let folder = tempfile::tempdir().unwrap();
        copy(
            &intact.path().join("capture"),
            &folder.path().join("capture"),
        );
        let mut random = Random(seed << 32 | number);
        let times = 1 + random.below(2);
        let what: Vec<String> = (0..times)
            .map(|_| damage(&folder.path().join("capture"), &mut random))
            .collect();
        let mut codes = Vec::new();
        for command in &commands {
            let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
            let (code, errors) = run(folder.path(), &arguments);
            assert!(
                ALLOWED.contains(&code),
                "capture {number} of seed {seed} ({}), {command:?}: code {code}: {errors}",
                what.join(", ")
            );
            codes.push(code);
        }
        codes
    };
    let codes: Vec<i32> = (0..count).into_par_iter().flat_map(case).collect();
    let mut table: BTreeMap<i32, usize> = BTreeMap::new();
    for code in codes {
        *table.entry(code).or_default() += 1;
    }
    eprintln!(
        "{count} damaged captures, {} commands each; runs by exit code: {table:?}",
        commands.len()
    );
    assert!(table[&8] > 0 && table[&9] > 0, "{table:?}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}
