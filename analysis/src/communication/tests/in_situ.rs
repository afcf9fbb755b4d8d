//! Compares the sums of in-situ runs with the oracle on generated programs: they must be equal where
//! `docs/capture/in-situ.md` calls them exact, and within their bounds elsewhere.

use super::against_oracle::any_steps;
use super::oracle::{self, Step};
use crate::communication::{Communication, Flow, Matching, Transfer, Volume};
use proptest::prelude::*;
use std::collections::BTreeMap;
use superstep_runtime_core::in_situ::entry::Entry;
use superstep_runtime_core::in_situ::{Accumulator, Shadow};
use superstep_trace::{AccessGroup, AllocationKind, FirstRead, LaunchSums, Op};

/// Exclusive upper bound on the CTA numbers in generated programs.
const CTAS: usize = 4;

#[derive(Default)]
struct Found {
    launches: Vec<LaunchSums>,
    transfers: Vec<Transfer>,
    /// First reads by source and receiving launch.
    first_read: BTreeMap<(u32, u32), FirstRead>,
}

fn add_up(steps: &[Step]) -> Found {
    let shadow = Shadow::default();
    let mut found = Found::default();
    // Each CTA has its own accumulator, as if the CTAs ran concurrently on separate workers.
    let mut accumulators: [Accumulator; CTAS] = Default::default();
    for step in steps {
        match step {
            Step::HostWrote(address, bytes) => shadow.set(*address, *bytes, Entry::HOST),
            Step::Forget(address, bytes) => shadow.set(*address, *bytes, Entry::UNWRITTEN),
            Step::Allocate(_, address, bytes) => {
                shadow.allocate(*address, *bytes, &AllocationKind::Device);
            }
            Step::Free(address, bytes) => shadow.free(*address, *bytes),
            Step::Opaque => shadow.unknown_wrote_all(),
            Step::OpaqueWrote(address, bytes) => shadow.set(*address, *bytes, Entry::UNKNOWN),
            Step::Launch(launch, groups) => {
                let number = found.launches.len() as u32;
                let running = shadow.begin(number, launch).unwrap();
                for (op, group) in groups {
                    accumulators[group.cta as usize].group(&shadow, &running, *op, group);
                }
                for accumulator in &mut accumulators {
                    accumulator.finish(&running);
                }
                let (sums, parts) = running.found();
                found.launches.push(sums);
                found
                    .transfers
                    .extend(parts.received.iter().map(|part| Transfer {
                        source_launch: part.source_launch,
                        source_cta: part.source_cta,
                        receiver_launch: part.receiver_launch,
                        receiver_cta: part.receiver_cta,
                        bytes: part.bytes,
                        count: part.count,
                    }));
                for part in parts.first_read {
                    let launches = (part.source_launch, part.receiver_launch);
                    assert!(found.first_read.insert(launches, part).is_none());
                }
            }
        }
    }
    found.transfers.sort_unstable();
    found
}

impl Found {
    fn volume(&self, number: usize) -> Volume {
        let sums = &self.launches[number];
        let received = || {
            let transfers = self.transfers.iter();
            transfers.filter(|transfer| transfer.receiver_launch as usize == number)
        };
        let reads = self.first_read.values();
        let reads = reads.filter(|read| read.source_launch as usize == number);
        Volume {
            loaded_bytes: sums.loads.bytes + sums.atomics.bytes,
            communicated_loaded_bytes: sums.loaded.communicated,
            self_loaded_bytes: sums.loaded.own,
            input_loaded_bytes: sums.loaded.input,
            uninitialised_loaded_bytes: sums.loaded.uninitialised,
            unknown_loaded_bytes: sums.loaded.unknown,
            local_loaded_bytes: sums.loaded.local,
            received_bytes: received().map(|transfer| transfer.bytes).sum(),
            received_count: received().map(|transfer| transfer.count).sum(),
            stored_bytes: sums.stores.bytes + sums.atomics.bytes,
            communicated_stored_bytes: reads.map(|read| read.stored_bytes).sum(),
            within_launch_loaded_bytes: sums.within_launch_loaded_bytes,
            within_launch_atomic_bytes: sums.within_launch_atomic_bytes,
            several_writers_bytes: sums.several_writers_bytes,
            racing_bytes: sums.racing_bytes,
            ..Volume::default()
        }
    }

    fn flows(&self) -> Vec<Flow> {
        let mut flows: BTreeMap<(u32, u32), Flow> = BTreeMap::new();
        for transfer in &self.transfers {
            let launches = (transfer.source_launch, transfer.receiver_launch);
            let flow = flows.entry(launches).or_insert(Flow {
                source_launch: launches.0,
                receiver_launch: launches.1,
                bytes: 0,
                count: 0,
            });
            flow.bytes += transfer.bytes;
            flow.count += transfer.count;
        }
        flows.into_values().collect()
    }

    fn several_bytes(&self, predicate: impl Fn(&FirstRead) -> bool) -> u64 {
        let reads = self.first_read.values().filter(|read| predicate(read));
        reads.map(|read| read.several_bytes).sum()
    }

    fn perhaps_local(&self, launch: u32) -> u64 {
        self.launches[launch as usize].loaded.perhaps_local
    }
}

/// Changes the steps so that at most one thread in a launch writes each byte; writes may cover only parts of words.
fn without_races(mut steps: Vec<Step>) -> Vec<Step> {
    const BYTES: u64 = 4096;
    let base = 0x10_0000 - BYTES / 2;
    for (number, step) in steps.iter_mut().enumerate() {
        let Step::Launch(_, groups) = step else {
            continue;
        };
        for (op, group) in groups {
            group.width_bytes = group.width_bytes.min(16);
            let threads: Vec<u32> = group.threads().map(|(thread, _)| thread).collect();
            let cta = group.cta;
            for (address, thread) in group.addresses.iter_mut().zip(threads) {
                let cell = u64::from(cta * 64 + thread) ^ (number as u64 * 37 % 256);
                *address = if op.writes() {
                    let room = 17 - u64::from(group.width_bytes);
                    base + cell * 16 + *address % room
                } else {
                    base + *address * 0x9e37 % BYTES
                };
            }
        }
    }
    steps
}

fn transfers_of(all: &[Transfer], source: u32, receiver: u32) -> Vec<Transfer> {
    let is_between = |it: &&Transfer| (it.source_launch, it.receiver_launch) == (source, receiver);
    all.iter().filter(is_between).copied().collect()
}

/// Returns the numbers of bytes and reads that a CTA received from a launch.
fn received(all: &[Transfer], cta: u32) -> (u64, u64) {
    let transfers = all.iter().filter(|transfer| transfer.receiver_cta == cta);
    transfers.fold((0, 0), |(bytes, count), transfer| {
        (bytes + transfer.bytes, count + transfer.count)
    })
}

/// Removes from a volume what an in-situ run cannot determine exactly: communication within launches, and whether
/// unwritten bytes are uninitialised or unordered.
fn known_in_situ(volume: Volume) -> Volume {
    Volume {
        uninitialised_loaded_bytes: volume.uninitialised_loaded_bytes
            + volume.unordered_loaded_bytes,
        unordered_loaded_bytes: 0,
        within_launch_loaded_bytes: 0,
        within_launch_atomic_bytes: 0,
        ..volume
    }
}

fn check_bounds(found: &Found, want: &Communication) -> Result<(), TestCaseError> {
    let all = want.transfers.to_vec().unwrap();
    let launches = want.launches.len() as u32;
    for number in 0..launches {
        let got = found.volume(number as usize);
        let want = want.launches[number as usize].volume;
        prop_assert!(got.within_launch_loaded_bytes <= want.within_launch_loaded_bytes);
        prop_assert!(got.within_launch_atomic_bytes <= want.within_launch_atomic_bytes);
        let want = known_in_situ(want);
        let perhaps_local = found.perhaps_local(number);
        for exact in [
            |volume: &Volume| volume.loaded_bytes,
            |volume: &Volume| volume.stored_bytes,
            |volume: &Volume| volume.several_writers_bytes,
            |volume: &Volume| volume.racing_bytes,
        ] {
            prop_assert_eq!(exact(&got), exact(&want), "launch {}", number);
        }
        for class in [
            |volume: &Volume| volume.communicated_loaded_bytes,
            |volume: &Volume| volume.self_loaded_bytes,
            |volume: &Volume| volume.input_loaded_bytes,
            |volume: &Volume| volume.uninitialised_loaded_bytes,
            |volume: &Volume| volume.unknown_loaded_bytes,
        ] {
            let (upper, want) = (class(&got), class(&want));
            prop_assert!(
                want <= upper && upper <= want + perhaps_local,
                "launch {}: {} for {}",
                number,
                upper,
                want
            );
        }
        let (lower, want_local) = (got.local_loaded_bytes, want.local_loaded_bytes);
        prop_assert!(lower <= want_local && want_local <= lower + perhaps_local);
        let (stored, want_stored) = (
            got.communicated_stored_bytes,
            want.communicated_stored_bytes,
        );
        let perhaps_local_later: u64 = (number + 1..launches)
            .map(|later| found.perhaps_local(later))
            .sum();
        prop_assert!(stored <= want_stored + perhaps_local_later);
        if found.several_bytes(|read| read.source_launch == number) == 0 {
            prop_assert!(want_stored <= stored, "launch {}", number);
        }
        for receiver in number + 1..launches {
            let got = transfers_of(&found.transfers, number, receiver);
            let want = transfers_of(&all, number, receiver);
            let perhaps_local = found.perhaps_local(receiver);
            let is_between =
                |read: &FirstRead| (read.source_launch, read.receiver_launch) == (number, receiver);
            let several_bytes = found.several_bytes(is_between);
            if perhaps_local == 0 && several_bytes == 0 {
                prop_assert_eq!(&got, &want);
            }
            for cta in 0..CTAS as u32 {
                let (got, want) = (received(&got, cta), received(&want, cta));
                prop_assert!(got.0 <= want.0 + perhaps_local && got.1 <= want.1 + perhaps_local);
                if several_bytes == 0 {
                    prop_assert!(want.0 <= got.0 && want.1 <= got.1);
                }
            }
        }
    }
    Ok(())
}

proptest! {

    #[test]
    fn equals_the_oracle_without_races(steps in any_steps(false).prop_map(without_races)) {
        let want = oracle::communication(&steps, Matching::Bytes);
        let found = add_up(&steps);
        for (number, launch) in want.launches.iter().enumerate() {
            let (got, want) = (found.volume(number), launch.volume);
            prop_assert_eq!(known_in_situ(got), known_in_situ(want), "launch {}", number);
            prop_assert!(got.within_launch_loaded_bytes <= want.within_launch_loaded_bytes);
            prop_assert_eq!(found.perhaps_local(number as u32), 0);
        }
        prop_assert_eq!(found.several_bytes(|_| true), 0);
        prop_assert_eq!(found.flows(), want.flows);
        prop_assert_eq!(found.transfers, want.transfers.to_vec().unwrap());
    }

    #[test]
    fn is_within_bounds(steps in any_steps(false)) {
        check_bounds(&add_up(&steps), &oracle::communication(&steps, Matching::Bytes))?;
    }

    #[test]
    fn is_within_bounds_on_whole_words(steps in any_steps(true)) {
        check_bounds(&add_up(&steps), &oracle::communication(&steps, Matching::Bytes))?;
    }
}

fn group(cta: u32, warp: u32, addresses: &[u64]) -> AccessGroup {
    let mut group = AccessGroup {
        cta,
        warp,
        width_bytes: 4,
        mask: ((1u64 << addresses.len()) - 1) as u32,
        ..AccessGroup::EMPTY
    };
    group.addresses[..addresses.len()].copy_from_slice(addresses);
    group
}

/// Covers each kind of inexact bytes, with results derived by hand.
#[test]
fn inexact_bytes_are_counted() {
    let launch = super::against_oracle::launch;
    let a = 0x5000;
    let steps = [
        // Threads 0 and 32 each add to a word twice; only thread 0 is known to have read its own value.
        Step::Launch(
            launch(0, 0, "add"),
            [0, 1, 0, 1]
                .map(|warp| (Op::AtomicAdd, group(0, warp, &[a])))
                .to_vec(),
        ),
        // CTAs 0 and 1 write the next word.
        Step::Launch(
            launch(0, 1, "race"),
            [0, 1]
                .map(|cta| (Op::Store, group(cta, 0, &[a + 4])))
                .to_vec(),
        ),
        Step::Launch(
            launch(0, 2, "read"),
            vec![(Op::Load, group(3, 0, &[a, a + 4, a + 4]))],
        ),
    ];
    let found = add_up(&steps);
    let loaded = found.launches[0].loaded;
    assert_eq!((loaded.local, loaded.perhaps_local), (4, 4));
    assert_eq!(loaded.uninitialised, 12);
    let racing = &found.launches[1];
    assert_eq!((racing.several_writers_bytes, racing.racing_bytes), (4, 4));
    let transfer = |source_launch| Transfer {
        source_launch,
        source_cta: 0,
        receiver_launch: 2,
        receiver_cta: 3,
        bytes: 4,
        count: 1,
    };
    assert_eq!(found.transfers, [transfer(0), transfer(1)]);
    let read = |source_launch, several_bytes| FirstRead {
        source_launch,
        receiver_launch: 2,
        stored_bytes: 4,
        several_bytes,
        perhaps_again_bytes: 0,
    };
    let reads: Vec<FirstRead> = found.first_read.into_values().collect();
    assert_eq!(reads, [read(0, 0), read(1, 8)]);
}
