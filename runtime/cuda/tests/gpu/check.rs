//! Checks that the capture of `stress.cu` contains each of the program's accesses exactly once, in program order, by
//! the right thread and in a group of the right launch.
//!
//! `check-stress CAPTURE ROUNDS [LAUNCHES-THAT-MAY-FAIL]`

use std::collections::HashMap;
use std::process::ExitCode;
use superstep_trace::{AccessGroup, Capture, Launch, LaunchEnd, LaunchOutcome, LaunchRecord};

const ALL: u32 = 0;
const HALF: u32 = 1;
const LOOP: u32 = 2;
const ATOMIC: u32 = 3;
const FLAG: u32 = 4;

/// Same as the function in stress.cu.
fn mix(mut value: u32) -> u32 {
    value ^= value >> 16;
    value = value.wrapping_mul(0x7feb_352d);
    value ^= value >> 15;
    value = value.wrapping_mul(0x846c_a68b);
    value ^ value >> 16
}

/// Returns the site, round and index of each access by a thread, in program order.
fn accesses(launch: &Launch, thread: u32, rounds: u32) -> Vec<(u32, u32, u32)> {
    let local = u64::from(thread) % launch.threads_per_cta();
    let mut expected = Vec::new();
    if launch.kernel == "relay" {
        for round in 0..20 {
            expected.push((FLAG, round, local as u32 & 1));
            if local == 0 {
                expected.push((ATOMIC, round, 0));
            }
        }
        return expected;
    }
    for round in 0..rounds {
        let h = mix(thread.wrapping_mul(4099).wrapping_add(round));
        expected.push((ALL, round, 0));
        if h & 1 != 0 {
            expected.push((HALF, round, 0));
        }
        expected.extend((0..h % 5).map(|number| (LOOP, round, number)));
        if local % 3 == u64::from(round) % 3 {
            expected.push((ATOMIC, round, 0));
        }
    }
    expected
}

#[derive(Default)]
struct Seen {
    by_thread: HashMap<u32, Vec<(u32, u32, u32)>>,
    groups: u64,
    lanes: u64,
    errors: Vec<String>,
}

impl Seen {
    fn add(&mut self, launch: &Launch, group: &AccessGroup) {
        self.groups += 1;
        for (local, address) in group.threads() {
            self.lanes += 1;
            let (number, round) = (address as u32 >> 4 & 0xff, address as u32 >> 12);
            let (thread, site) = ((address >> 32) as u32 & 0xff_ffff, address as u32 & 0xf);
            let expected_thread =
                u64::from(group.cta) * launch.threads_per_cta() + u64::from(local);
            let width = match site {
                HALF => 4 << (thread & 1),
                LOOP => 8,
                _ => 4,
            };
            let is_correct = group.site.0 == site
                && address >> 56 == u64::from(launch.launch.0 & 0xff)
                && u64::from(thread) == expected_thread
                && group.width_bytes == width;
            if !is_correct {
                self.errors.push(format!(
                    "launch {}: address {address:#x} in {group:?}",
                    launch.launch
                ));
            }
            self.by_thread
                .entry(thread)
                .or_default()
                .push((site, round, number));
        }
    }
}

fn check(folder: &str, rounds: u32, may_fail: usize) -> Result<(), String> {
    let capture = Capture::open(folder).map_err(|error| error.to_string())?;
    let mut all: HashMap<_, Seen> = HashMap::new();
    capture
        .groups(|record, group| {
            all.entry(record.number)
                .or_default()
                .add(record.launch, group)
        })
        .map_err(|error| error.to_string())?;
    let (mut failed, mut total, mut groups) = (0, 0, 0);
    for LaunchRecord {
        number,
        launch,
        end,
        ..
    } in capture.launches()
    {
        let seen = all.remove(&number).unwrap_or_default();
        let name = format!(
            "{} in stream {}, launch {}",
            launch.kernel, launch.stream, launch.launch
        );
        if let Some(error) = seen.errors.first() {
            return Err(format!(
                "{name}: {} wrong accesses, the first: {error}",
                seen.errors.len()
            ));
        }
        let Some(LaunchEnd {
            thread_accesses: counted,
            outcome,
            ..
        }) = end
        else {
            return Err(format!("{name} never finished"));
        };
        if *counted != seen.lanes {
            return Err(format!(
                "{name}: the end record says {counted} accesses, but the stream has {}",
                seen.lanes
            ));
        }
        total += seen.lanes;
        groups += seen.groups;
        let is_complete = *outcome == LaunchOutcome::Completed;
        if !is_complete {
            failed += 1;
            println!("{name}: {} accesses found, {outcome:?}", seen.lanes);
        }
        for thread in 0..(launch.ctas() * launch.threads_per_cta()) as u32 {
            let expected = accesses(launch, thread, rounds);
            let actual = seen
                .by_thread
                .get(&thread)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let is_correct = if is_complete {
                actual == expected
            } else {
                expected.starts_with(actual)
            };
            if !is_correct {
                let at = expected
                    .iter()
                    .zip(actual)
                    .position(|(a, b)| a != b)
                    .unwrap_or(expected.len().min(actual.len()));
                return Err(format!(
                    "{name}, thread {thread}: {} accesses instead of {}; access {at} is {:?} instead of {:?}",
                    actual.len(),
                    expected.len(),
                    actual.get(at),
                    expected.get(at)
                ));
            }
        }
    }
    if failed > may_fail {
        return Err(format!("{failed} launches failed, but only {may_fail} may"));
    }
    println!(
        "{} launches, {total} accesses in {groups} groups, each exactly once; capture {}",
        capture.launches().count(),
        if capture.complete {
            "complete"
        } else {
            "incomplete"
        }
    );
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse().ok());
    let (Some(folder), Some(rounds)) = (arguments.get(1), number(2)) else {
        eprintln!("usage: check-stress CAPTURE ROUNDS [LAUNCHES-THAT-MAY-FAIL]");
        return ExitCode::from(2);
    };
    match check(folder, rounds, number(3).unwrap_or(0) as usize) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
