//! The handler, compiled for the host, adds up what the CPU backend does, on random programs; also where another access comes between its
//! look at an entry and its exchange. Which of a warp's lanes come together is not tried here: each comes alone.

use super::layout::{INPUT, NOBODY_KNOWS, Transfer, UNWRITTEN};
use super::sums::{of_launch, parts};
use crate::test_tools::{Numbers, run_cpp};
use std::collections::BTreeMap;
use std::fmt::Write;
use superstep_runtime_core::in_situ::{Adder, Shadow};
use superstep_trace::{
    AccessGroup, AllocationKind, Launch, LaunchId, LaunchSums, Op, Parts, StreamId,
};

const PROGRAMS: usize = 1000;
const LAUNCHES: u32 = 7;
const CTAS: u64 = 4;
const BASE: u64 = 77 << 21;
const BYTES: u64 = 96;

/// What is compared of a program.
#[derive(Debug, Default, PartialEq)]
struct Found {
    launches: Vec<LaunchSums>,
    /// Bytes by source and receiver, each with launch and CTA.
    received: BTreeMap<[u32; 4], u64>,
    /// Stored bytes that were read first, by launch that stored and launch that read.
    first_read: BTreeMap<[u32; 2], u64>,
}

impl Found {
    /// From whom bytes with several writers come is said differently: the CPU backend names the first of them, the device nobody.
    fn without_unsure(mut self) -> Self {
        if self
            .launches
            .iter()
            .any(|sums| sums.several_writers_bytes > 0)
        {
            self.received.clear();
        }
        self
    }

    /// Lanes that come together are not compared, nor, with `races`, what depends on the order of accesses.
    fn add_sums(&mut self, mut sums: LaunchSums, races: bool) {
        for tally in [&mut sums.loads, &mut sums.stores, &mut sums.atomics] {
            tally.warps = 0;
        }
        if races {
            sums.loaded.perhaps_local = 0;
        }
        self.launches.push(sums);
    }

    /// Neither are counts: an access of several words is one on a GPU.
    fn add_parts(&mut self, parts: Parts) {
        for part in parts.received {
            let pair = [
                part.source_launch,
                part.source_cta,
                part.receiver_launch,
                part.receiver_cta,
            ];
            *self.received.entry(pair).or_default() += part.bytes;
        }
        for part in parts.first_read {
            if part.stored_bytes > 0 {
                let pair = [part.source_launch, part.receiver_launch];
                *self.first_read.entry(pair).or_default() += part.stored_bytes;
            }
        }
    }
}

fn launch(number: u32, kernel: &str) -> Launch {
    Launch {
        sequence: number.into(),
        stream: StreamId(0),
        launch: LaunchId(number),
        kernel: kernel.to_owned(),
        grid: [CTAS as u32, 1, 1],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        parent: None,
        device: 0,
    }
}

struct Access {
    cta: u32,
    thread: u32,
    op: Op,
    width_bytes: u32,
    address: u64,
}

impl Access {
    fn any(numbers: &mut Numbers, ops: &[Op]) -> Self {
        let width = [1, 2, 4, 4, 8, 16, 3, 12][numbers.below(8) as usize];
        let mut address = numbers.below(BYTES - width + 1);
        if width.is_power_of_two() && numbers.below(8) > 0 {
            address -= address % width;
        }
        Access {
            cta: numbers.below(CTAS) as u32,
            thread: numbers.below(3) as u32,
            op: ops[numbers.below(ops.len() as u64) as usize],
            width_bytes: width as u32,
            address: BASE + address,
        }
    }

    fn line(&self, letter: char) -> String {
        let Access {
            cta,
            thread,
            op,
            width_bytes,
            address,
        } = self;
        let operation = match op {
            Op::Load => 1,
            Op::Store => 2,
            _ => 3,
        };
        format!("{letter} {cta} {thread} {operation} {width_bytes} {address}\n")
    }

    fn group(&self) -> AccessGroup {
        let mut addresses = [0; 32];
        addresses[0] = self.address;
        AccessGroup {
            cta: self.cta,
            mask: 1 << self.thread,
            width_bytes: self.width_bytes,
            addresses,
            ..AccessGroup::EMPTY
        }
    }
}

/// A program, as the C++ side reads it, and what the CPU backend makes of it. `races`: its stores come between each other.
fn program(numbers: &mut Numbers, races: bool) -> (String, Found) {
    let first = numbers.below(2);
    let (mut text, mut expected) = (format!("n {BASE}\n"), Found::default());
    let shadow = Shadow::default();
    shadow.allocate(BASE, BYTES, &AllocationKind::Device);
    let _ = writeln!(text, "f {BASE} {BYTES} {UNWRITTEN}");
    let mut adders: [Adder; CTAS as usize] = Default::default();
    for number in 0..LAUNCHES {
        if numbers.below(3) == 0 {
            let (from, words) = (4 * numbers.below(BYTES / 4 - 8), numbers.below(8));
            let (address, bytes) = (BASE + from, 4 * words);
            let pattern = if numbers.below(4) == 0 {
                shadow.unknown_wrote(address, bytes);
                NOBODY_KNOWS
            } else {
                shadow.host_wrote(address, bytes);
                INPUT
            };
            let _ = writeln!(text, "f {address} {bytes} {pattern}");
        }
        let kernel = numbers.below(2);
        // In every other program one CTA writes, so that no byte has several writers.
        let writer = (numbers.below(CTAS) as u32, first == 0);
        let launch = launch(number, ["a", "b"][kernel as usize]);
        let _ = writeln!(text, "l {} {kernel}", number + 1);
        let running = shadow.begin(number, &launch).expect("it fits");
        let ops: &[Op] = match (races, number % 2) {
            (false, _) => &[Op::Load, Op::Load, Op::Store, Op::AtomicAdd],
            (true, 0) => &[Op::Store],
            (true, _) => &[Op::Load, Op::Load, Op::Store],
        };
        for _ in 0..numbers.below(30) {
            let mut access = Access::any(numbers, ops);
            let letter = match races && access.op == Op::Store && numbers.below(4) > 0 {
                true => 'w',
                false => 'a',
            };
            if writer.1 && access.op != Op::Load {
                access.cta = writer.0;
            }
            if races && access.op == Op::Store {
                access.thread += 8; // no load is of a thread that stores
            }
            text += &access.line(letter);
            adders[access.cta as usize].group(&shadow, &running, access.op, &access.group());
        }
        for adder in &mut adders {
            adder.finish(&running);
        }
        text += "e\n";
        let (sums, parts) = running.found();
        expected.add_sums(sums, races);
        expected.add_parts(parts);
    }
    text += "p\n";
    (text, expected.without_unsure())
}

/// What the C++ side printed of one program.
fn found<'a>(lines: &mut impl Iterator<Item = &'a str>, races: bool) -> Found {
    let mut found = Found::default();
    let mut numbers = || {
        let line = lines.next().expect("a line for each launch and program");
        let words = line.split_whitespace();
        words
            .map(|word| word.parse().expect("a number"))
            .collect::<Vec<u64>>()
    };
    for number in 0..LAUNCHES {
        let summed = of_launch(&launch(number, ""), &numbers());
        assert_eq!((summed.lost_bytes, summed.not_split), (0, 0));
        found.add_sums(summed.sums, races);
    }
    let rows: Vec<_> = (numbers().chunks_exact(4))
        .map(|row| Transfer {
            source: row[0],
            receiver: row[1],
            bytes: row[2],
            count: row[3],
        })
        .collect();
    found.add_parts(parts(&rows));
    found.without_unsure()
}

fn compare(races: bool) {
    let mut numbers = Numbers(3);
    let programs: Vec<_> = (0..PROGRAMS)
        .map(|_| program(&mut numbers, races))
        .collect();
    let input: String = programs.iter().map(|(text, _)| text.as_str()).collect();
    let Some(output) = run_cpp(include_str!("on_host.cpp"), &input) else {
        return;
    };
    let mut lines = output.lines();
    for (text, expected) in &programs {
        let found = found(&mut lines, races);
        assert_eq!(&found, expected, "{text}");
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn the_handler_adds_up_what_the_cpu_backend_does() {
    compare(false);
}

#[test]
fn stores_that_come_between_are_not_lost() {
    compare(true);
}
