//! Tests of the checks for in-situ runs: each check must be able to fail.

use std::path::Path;

use superstep_analysis::communication::Options;
use superstep_analysis::run_summary::{Check, NotCompared, Reproducibility};
use superstep_analysis::{Analysis, analyse};
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{
    Backend, Capture, CtaBlocks, CtaRange, Event, FirstRead, Header, Launch, LaunchOutcome,
    LaunchSums, LoadedBytes, ModuleTable, Op, Parts, Received, Selection, StreamId, Tally,
};

use super::*;
use superstep_build::run::LaunchCounts;

fn module() -> ModuleTable {
    let sites = vec![testing::site(0, Op::Load), testing::site(1, Op::Store)];
    testing::module("toy.cu", sites, &[("w", "write"), ("r", "read")])
}

/// Writes a trace: two CTAs store a word per lane, and in the next launch CTA 0 loads the words of CTA 1.
fn traced(folder: &Path) -> Capture {
    let mut capture = CaptureBuilder::new(folder, &module());
    let words = |cta: u32| testing::words(0x1000 + 128 * u64::from(cta));
    let stores = [0, 1].map(|cta| testing::group(1, cta, words(cta)));
    capture.launch(testing::launch("w", 2, 32), &[stores]);
    let loads = [testing::group(0, 0, words(1))];
    capture.launch(testing::launch("r", 2, 32), &[loads]);
    capture.finish()
}

/// Sums of the launches that [`traced`] writes.
struct Sums {
    write: LaunchSums,
    read: LaunchSums,
    received: Received,
    first_read: FirstRead,
}

fn sums(folder: &Path, change: impl FnOnce(&mut Sums)) -> Capture {
    sums_between(CtaBlocks::default(), folder, change)
}

fn sums_between(cta_blocks: CtaBlocks, folder: &Path, change: impl FnOnce(&mut Sums)) -> Capture {
    let tally = |warps: u64| Tally {
        threads: 32 * warps,
        bytes: 128 * warps,
        warps,
    };
    let header = Header {
        cta_blocks,
        ..Header::new(Backend::Cpu)
    };
    let mut capture = CaptureBuilder::with_header(folder, &header, &module());
    let launches = ["w", "r"].map(|kernel| capture.begin(testing::launch(kernel, 2, 32)));
    let [write, read] = (launches.each_ref()).map(|it| LaunchSums::new(it.stream, it.launch));
    let mut sums = Sums {
        write: LaunchSums {
            stores: tally(2),
            ..write
        },
        read: LaunchSums {
            loads: tally(1),
            loaded: LoadedBytes {
                communicated: 128,
                ..LoadedBytes::default()
            },
            ..read
        },
        received: Received {
            source_launch: 0,
            source_cta: 1,
            receiver_launch: 1,
            receiver_cta: 0,
            bytes: 128,
            count: 32,
        },
        first_read: FirstRead {
            source_launch: 0,
            receiver_launch: 1,
            stored_bytes: 128,
            several_bytes: 0,
            perhaps_again_bytes: 0,
        },
    };
    change(&mut sums);
    for (launch, sums) in launches.iter().zip([sums.write, sums.read]) {
        let accesses = sums.thread_accesses();
        capture.event(&Event::Sums(sums));
        capture.end_with(launch, accesses, LaunchOutcome::Completed);
    }
    capture.parts(Parts {
        received: vec![sums.received],
        first_read: vec![sums.first_read],
    });
    capture.finish()
}

fn analysed(capture: &Capture) -> Analysis {
    analyse(capture, Options::everything()).unwrap()
}

fn compared(change: impl FnOnce(&mut Sums)) -> Check {
    compared_between(CtaBlocks::default(), change)
}

fn compared_between(blocks: CtaBlocks, change: impl FnOnce(&mut Sums)) -> Check {
    let folders = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let trace = traced(folders[0].path());
    let sums = sums_between(blocks, folders[1].path(), change);
    in_situ_equal(
        &analysed(&sums),
        &analysed(&trace),
        trace.sites(),
        Order::Fixed,
    )
}

fn assert_fails(change: impl FnOnce(&mut Sums), what: &[&str]) {
    let check = compared(change);
    let named = what.iter().all(|word| check.detail.contains(word));
    assert!(!check.ok && named, "{what:?}: {check:?}");
}

#[test]
fn correct_sums_equal_the_trace() {
    let check = compared(|_| ());
    assert!(check.ok && !check.warning, "{check:?}");
    assert_eq!(check.detail, "2 launches, 1 transfers");
}

#[test]
fn transfers_of_the_trace_are_added_up_by_block() {
    let blocks = CtaBlocks::try_from(2).unwrap();
    let check = compared_between(blocks, |it| it.received.source_cta = 0);
    assert_eq!(check.detail, "2 launches, 1 transfers (blocks of 2 CTAs)");
    assert!(check.ok && !check.warning, "{check:?}");
    let check = compared_between(blocks, |_| ());
    assert!(
        !check.ok && check.detail.contains("CTA 0 to CTA 0: 0 bytes"),
        "{check:?}"
    );
}

#[test]
fn the_first_difference_is_named() {
    let read = "launch 1 of stream 0 (read)";
    assert_fails(|it| it.read.loads.threads = 33, &[read, "thread_loads: 33"]);
    assert_fails(
        |it| it.write.stores.threads = 63,
        &[
            "launch 0 of stream 0 (write)",
            "thread_stores: 63",
            "64 traced",
        ],
    );
    assert_fails(
        |it| {
            it.read.loaded.communicated = 64;
            it.read.loaded.own = 64;
        },
        &[read, "communicated_loaded_bytes: 64 in situ, 128 traced"],
    );
    assert_fails(|it| it.write.racing_bytes = 1, &["racing_bytes: 1"]);
    assert_fails(
        |it| it.first_read.stored_bytes = 100,
        &["communicated_stored_bytes: 100"],
    );
    assert_fails(|it| it.received.bytes = 4, &["received_bytes: 4"]);
    assert_fails(|it| it.received.count = 4, &["received_count: 4"]);
    assert_fails(
        |it| it.received.receiver_cta = 1,
        &[
            "from launch 0",
            read,
            "CTA 1 to CTA 0: 0 bytes",
            "128 and 32 traced",
        ],
    );
}

#[test]
fn the_trace_must_be_within_bounds() {
    let check = compared(|it| {
        it.received.bytes = 64;
        it.received.count = 16;
        it.first_read.stored_bytes = 64;
        it.first_read.several_bytes = 64;
    });
    assert!(check.ok && check.warning, "{check:?}");
    assert_fails(
        |it| {
            it.received.bytes = 32;
            it.first_read.several_bytes = 64;
        },
        &["received_bytes: 32 to 96 in situ, 128 traced"],
    );
    let check = compared(|it| {
        it.read.loaded.own = 128;
        it.read.loaded.communicated = 0;
        it.read.loaded.perhaps_local = 128;
    });
    assert!(!check.ok, "own and local, and not communicated: {check:?}");
}

#[test]
fn sums_of_varying_runs_are_compared_with_two_traces() {
    let folders = [0, 1, 2].map(|_| tempfile::tempdir().unwrap());
    let one = analysed(&traced(folders[0].path()));
    // Another run, in which the second launch loads half as much.
    let mut other = one.clone();
    other.communication.launches[1].volume.loaded_bytes = 64;
    let check = |loaded: u64| {
        let sums = sums(folders[2].path(), |it| it.read.loads.bytes = loaded);
        in_situ_between(&analysed(&sums), [&one, &other], sums.sites(), Order::Fixed)
    };
    for within in [64, 100, 128] {
        let check = check(within);
        assert!(check.ok && !check.warning, "{check:?}");
        let detail = "runs differ; 26 of 26 kernel volumes are in the range of two traces";
        assert_eq!(check.detail, detail);
    }
    let check = check(60);
    assert!(check.ok && check.warning, "{check:?}");
    let deviation = "largest deviation is loaded_bytes of read: 60 to 60 in situ, 64 to 128 traced";
    assert!(check.detail.ends_with(deviation), "{check:?}");
}

#[test]
fn contradictory_sums_are_found() {
    let broken = |change: fn(&mut Sums)| {
        let folder = tempfile::tempdir().unwrap();
        let [consistent, skipped] = check_sums(&sums(folder.path(), change));
        assert!(skipped.ok);
        (!consistent.ok).then_some(consistent.detail)
    };
    assert_eq!(broken(|_| ()), None);
    let found = broken(|it| it.read.loaded.communicated = 100).unwrap();
    assert!(
        found.contains("but the bytes by writer add up to 100"),
        "{found}"
    );
    let found = broken(|it| it.write.racing_bytes = 4).unwrap();
    assert!(found.contains("4 racing bytes, but only 0"), "{found}");
    for change in [(|it| it.received.source_cta = 2) as fn(&mut Sums), |it| {
        it.received.receiver_cta = 2
    }] {
        let found = broken(change).unwrap();
        assert!(found.contains("is outside its grid"), "{found}");
    }
}

fn counted(loads: u64) -> Vec<LaunchCounts> {
    let launch = |(launch, kernel): (u32, &str), sites| LaunchCounts {
        stream: 0,
        launch,
        kernel: kernel.to_owned(),
        sites,
    };
    vec![
        launch((0, "w"), vec![(1, 64)]),
        launch((1, "r"), vec![(0, loads)]),
    ]
}

#[test]
fn sums_are_compared_with_the_counting_run_and_golden_counts() {
    let folder = tempfile::tempdir().unwrap();
    let capture = sums(folder.path(), |_| ());
    let scan = scan(&capture).unwrap();
    let counts = |loads| {
        let counts = counted(loads);
        CountVariation::default().counts_equal(&scan, Some(&counts), Reproducibility::Counts)
    };
    let check = counts(32);
    assert!(check.ok, "{check:?}");
    assert_eq!(check.detail, "96 thread accesses in 2 launches");
    let check = counts(33);
    assert!(
        !check.ok
            && check
                .detail
                .contains("32 thread loads added up, 33 counted")
    );

    let found = totals(&scan);
    assert_eq!((found.threads.loads, found.threads.stores), (32, 64));
    assert_eq!(found.bytes.stored, 256);
    let trace_folder = tempfile::tempdir().unwrap();
    let trace = traced(trace_folder.path());
    let trace_scan = superstep_analysis::scan::scan(&trace).unwrap();
    let build = ("22", 90);
    let golden = Golden::new(
        &trace_scan,
        &totals(&trace_scan),
        build,
        &[],
        Reproducibility::Digests,
    );
    let now = Golden::new(&scan, &found, build, &[], Reproducibility::Counts);
    let check = compare_with_golden(Some(&golden), &now, &scan);
    assert!(check.ok && check.detail.contains("no digests"), "{check:?}");
    let mut other = found;
    other.kernels[0].stores += 1;
    let now = Golden::new(&scan, &other, build, &[], Reproducibility::Counts);
    let check = compare_with_golden(Some(&golden), &now, &scan);
    assert!(!check.ok && check.not_compared != Some(NotCompared::OtherLlvm));
}

#[test]
fn a_cta_that_was_not_selected_received_nothing() {
    let check = |blocks: CtaBlocks, ctas: &str| {
        let folder = tempfile::tempdir().unwrap();
        let capture = sums_between(blocks, folder.path(), |_| ());
        let scan = scan(&capture).unwrap();
        let selection = Selection {
            ctas: CtaRange::parse_list(ctas).unwrap(),
            ..Selection::default()
        };
        check_selection(&capture, &scan, &selection).unwrap().0
    };
    let single = CtaBlocks::default();
    assert!(check(single, "0-1").ok);
    let stray = check(single, "0");
    assert!(!stray.ok && stray.detail.contains("CTA 1 of 2 of kernel write"));
    // A block is identified by its first CTA, selected or not.
    assert!(check(CtaBlocks::try_from(2).unwrap(), "1").ok);
}

/// Writes launches of two threads, as a trace or as sums: one writes and reads 32 words, the other 64. `streams`
/// contains the stream of each thread, and `order` the thread of each launch.
fn two_threads(
    folder: &Path,
    streams: [u32; 2],
    order: [usize; 4],
    changed: u64,
    is_in_situ: bool,
) -> Capture {
    let mut capture = CaptureBuilder::new(folder, &module());
    let mut next = [0u32; 2];
    let mut numbers = [[0; 2]; 2];
    for (number, thread) in (0..).zip(order) {
        let is_write = next[thread] == 0;
        numbers[thread][next[thread] as usize] = number;
        let launch = Launch {
            stream: StreamId(streams[thread]),
            ..testing::launch(if is_write { "w" } else { "r" }, 2, 32)
        };
        next[thread] += 1;
        let ctas = 0..=thread as u64;
        let words = |cta: u64| testing::words(0x1000 * (thread as u64 + 1) + 128 * cta);
        if !is_in_situ {
            // CTA 1 reads the words of CTA 0 or, in the second thread, of both CTAs.
            let groups: Vec<_> = match is_write {
                true => (ctas
                    .clone()
                    .map(|cta| testing::group(1, cta as u32, words(cta))))
                .collect(),
                false => (ctas.map(|cta| testing::group(0, 1, words(cta)))).collect(),
            };
            let launch = capture.begin(launch);
            capture.chunk(&launch, &groups);
            let accesses = 32 * groups.len() as u64;
            capture.end_with(&launch, accesses, LaunchOutcome::Completed);
            continue;
        }
        let warps = thread as u64 + 1;
        let tally = Tally {
            threads: 32 * warps,
            bytes: 128 * warps,
            warps,
        };
        let launch = capture.begin(launch);
        let sums = LaunchSums::new(launch.stream, launch.launch);
        let sums = match is_write {
            true => LaunchSums {
                stores: tally,
                ..sums
            },
            false => LaunchSums {
                loads: tally,
                loaded: LoadedBytes {
                    communicated: 128 * warps - changed,
                    own: changed,
                    ..LoadedBytes::default()
                },
                ..sums
            },
        };
        let accesses = sums.thread_accesses();
        capture.event(&Event::Sums(sums));
        capture.end_with(&launch, accesses, LaunchOutcome::Completed);
    }
    if is_in_situ {
        let pairs = || numbers.into_iter().zip(0..);
        let parts = pairs().flat_map(|([source_launch, receiver_launch], thread)| {
            (0..=thread).map(move |source_cta| Received {
                source_launch,
                source_cta,
                receiver_launch,
                receiver_cta: 1,
                bytes: 128,
                count: 32,
            })
        });
        let first = pairs().map(|([source_launch, receiver_launch], thread)| FirstRead {
            source_launch,
            receiver_launch,
            stored_bytes: 128 * (u64::from(thread) + 1),
            several_bytes: 0,
            perhaps_again_bytes: 0,
        });
        capture.parts(Parts {
            received: parts.collect(),
            first_read: first.collect(),
        });
    }
    capture.finish()
}

#[test]
fn launches_of_multiple_threads_are_paired_by_their_streams() {
    let folder = || tempfile::tempdir().unwrap();
    let (first, second) = (folder(), folder());
    let trace = two_threads(first.path(), [1, 2], [0, 0, 1, 1], 0, false);
    let trace_analysis = analysed(&trace);
    for (streams, order) in [
        ([1, 2], [0, 1, 0, 1]),
        ([2, 1], [1, 0, 0, 1]),
        // Both use the same stream.
        ([0, 0], [0, 1, 1, 0]),
        ([0, 0], [1, 1, 0, 0]),
    ] {
        let sums = two_threads(second.path(), streams, order, 0, true);
        let check = |order| in_situ_equal(&analysed(&sums), &trace_analysis, trace.sites(), order);
        let fixed = check(Order::Fixed);
        assert!(!fixed.ok, "{streams:?} {order:?}: {fixed:?}");
        let threads = check(Order::Threads(2));
        assert!(
            threads.ok && threads.detail.contains("2 host threads"),
            "{streams:?} {order:?}: {threads:?}"
        );
    }
    let wrong = two_threads(second.path(), [2, 1], [1, 0, 0, 1], 4, true);
    let check = in_situ_equal(
        &analysed(&wrong),
        &trace_analysis,
        trace.sites(),
        Order::Threads(2),
    );
    assert!(!check.ok, "{check:?}");
}
