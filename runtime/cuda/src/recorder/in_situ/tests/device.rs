//! Checks that the handler, compiled for the host, computes the same sums as the CPU backend for random programs of
//! warps, even if other lanes and warps run between its load and its exchange of an entry. The test fails if lanes of a
//! warp wait for each other forever.

use super::programs::{LAUNCHES, Program, launch};
use crate::recorder::in_situ::layout::{MISSING, Transfer};
use crate::recorder::in_situ::sums::{of_launch, parts};
use crate::tests::{Numbers, run_cpp};
use std::collections::BTreeMap;
use superstep_trace::{CtaBlocks, LaunchSums, Parts};

const PROGRAMS: u64 = 1000;

/// The results of a program that the tests compare.
#[derive(Debug, Default, PartialEq)]
pub struct Found {
    launches: Vec<LaunchSums>,
    /// Bytes and loads by source and receiver, each given as a launch and a block's first CTA.
    received: BTreeMap<[u32; 4], (u64, u64)>,
    /// Bytes by storing and receiving launch.
    received_of_launches: BTreeMap<[u32; 2], u64>,
    /// Stored bytes that were read, counted once, by storing launch and first reading launch.
    first_read: BTreeMap<[u32; 2], u64>,
}

impl Found {
    /// Adds sums. If `is_cached`, drops the bytes that may be local, which then depend on the contents of caches.
    pub fn add_sums(&mut self, mut sums: LaunchSums, is_cached: bool) {
        // The device does not count these bytes.
        sums.within_launch_atomic_bytes = 0;
        if is_cached {
            sums.loaded.perhaps_local = 0;
        }
        self.launches.push(sums);
    }

    /// Adds transfers, grouped by `blocks` of CTAs, and their load counts if `exact_counts`.
    pub fn add_parts(&mut self, parts: Parts, exact_counts: bool, blocks: CtaBlocks) {
        for part in parts.received {
            let (source, receiver) = (part.source_launch, part.receiver_launch);
            let [from, to] = [part.source_cta, part.receiver_cta].map(|cta| blocks.first(cta));
            let pair = [source, from, receiver, to];
            let (bytes, count) = self.received.entry(pair).or_default();
            *bytes += part.bytes;
            *count += if exact_counts { part.count } else { 0 };
            *self
                .received_of_launches
                .entry([source, receiver])
                .or_default() += part.bytes;
        }
        for part in parts.first_read {
            assert_eq!(part.perhaps_again_bytes, 0);
            let pair = [part.source_launch, part.receiver_launch];
            if part.stored_bytes > 0 {
                *self.first_read.entry(pair).or_default() += part.stored_bytes;
            }
        }
    }

    /// Adds bytes with multiple writers, which the device counts only per pair of launches.
    fn add_multiple_writers(&mut self, parts: &Parts) {
        for part in parts
            .first_read
            .iter()
            .filter(|part| part.several_bytes > 0)
        {
            let pair = [part.source_launch, part.receiver_launch];
            *self.received_of_launches.entry(pair).or_default() += part.several_bytes;
        }
    }

    /// Drops sources of bytes with multiple writers: the CPU backend reports the first, the device reports none.
    fn unambiguous(mut self) -> Self {
        let Found {
            launches, received, ..
        } = &mut self;
        received.retain(|pair, _| launches[pair[0] as usize].several_writers_bytes == 0);
        self
    }

    /// Removes the counts of access groups, since the device may split groups.
    fn take_groups(&mut self) -> Vec<[u64; 3]> {
        let groups = |sums: &mut LaunchSums| {
            [&mut sums.loads, &mut sums.stores, &mut sums.atomics]
                .map(|tally| std::mem::take(&mut tally.warps))
        };
        self.launches.iter_mut().map(groups).collect()
    }

    /// Removes the bytes that may be local, because the device can rule out more threads than the CPU backend.
    fn take_perhaps_local(&mut self) -> Vec<u64> {
        let bytes = |sums: &mut LaunchSums| std::mem::take(&mut sums.loaded.perhaps_local);
        self.launches.iter_mut().map(bytes).collect()
    }

    /// Removes the bytes loaded within launches, since the device may miss some in lines that are already cached.
    fn take_within_launch(&mut self) -> u64 {
        let bytes = |sums: &mut LaunchSums| std::mem::take(&mut sums.within_launch_loaded_bytes);
        self.launches.iter_mut().map(bytes).sum()
    }
}

/// Reads the C++ side's results for a program.
fn found<'a>(lines: &mut impl Iterator<Item = &'a str>, program: &Program) -> Found {
    let mut found = Found::default();
    let mut numbers = || {
        let line = lines.next().expect("a line for each launch and program");
        let words = line.split_whitespace();
        words
            .map(|word| word.parse().expect("a number"))
            .collect::<Vec<u64>>()
    };
    for number in 0..LAUNCHES {
        let sums = numbers();
        let summed = of_launch(&launch(number, ""), &sums);
        assert_eq!(summed.unsplit_words, 0);
        // The active and missing lanes of all access groups add up to whole warps.
        let LaunchSums {
            loads,
            stores,
            atomics,
            ..
        } = &summed.sums;
        for (tally, missing) in [loads, stores, atomics].into_iter().zip(&sums[MISSING..]) {
            assert_eq!((tally.threads + missing) % 32, 0, "{}", program.text);
        }
        found.add_sums(summed.sums, program.is_cached);
    }
    let rows: Vec<_> = (numbers().chunks_exact(5))
        .map(|row| Transfer {
            source: row[0],
            receiver: row[1],
            bytes: row[2],
            count: row[3],
            stored: row[4],
            unused: 0,
        })
        .collect();
    let parts = parts(&rows);
    found.add_multiple_writers(&parts);
    found.add_parts(parts, program.has_exact_counts(), CtaBlocks::default());
    found
}

fn compare(races: bool) {
    let mut numbers = Numbers(3);
    let programs: Vec<_> = (0..PROGRAMS)
        .map(|seed| Program::random(&mut numbers, seed, races))
        .collect();
    let input: String = programs
        .iter()
        .map(|program| program.text.as_str())
        .collect();
    let Some(output) = run_cpp(include_str!("on_host.cpp"), &input) else {
        return;
    };
    let mut lines = output.lines();
    let mut all_within = (0, 0);
    for mut program in programs {
        let mut found = found(&mut lines, &program);
        let (min_groups, groups) = (program.expected.take_groups(), found.take_groups());
        let (max_local, perhaps_local) = (
            program.expected.take_perhaps_local(),
            found.take_perhaps_local(),
        );
        let within = (
            found.take_within_launch(),
            program.expected.take_within_launch(),
        );
        // With races, the device sees a different order.
        assert!(races || within.0 <= within.1, "{}", program.text);
        all_within = (all_within.0 + within.0, all_within.1 + within.1);
        let expected = program.expected.unambiguous();
        assert_eq!(found.unambiguous(), expected, "{}", program.text);
        for (max, bytes) in max_local.iter().zip(&perhaps_local) {
            assert!(bytes <= max, "{}", program.text);
        }
        for (min, groups) in min_groups.iter().flatten().zip(groups.iter().flatten()) {
            assert!(min <= groups, "{}", program.text);
        }
    }
    assert_eq!(lines.next(), None);
    let share = all_within.0 as f64 / all_within.1 as f64;
    assert!((0.95..1.05).contains(&share), "{all_within:?}");
}

#[test]
fn handler_sums_match_the_cpu_backend() {
    compare(false);
}

#[test]
fn interleaved_accesses_are_counted() {
    compare(true);
}

#[test]
fn a_half_full_set_has_room() {
    // Fills 9/16 of a set of 2^25 rows.
    if let Some(without_room) = run_cpp(include_str!("on_host.cpp"), "r 25 589824\n") {
        assert_eq!(without_room.trim(), "0");
    }
}
