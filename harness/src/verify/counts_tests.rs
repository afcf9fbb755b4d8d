//! Tests of the comparison with the counting run.

use std::collections::HashMap;

use superstep_analysis::run_summary::{Check, Reproducibility};
use superstep_analysis::scan::{CaptureScan, scan};
use superstep_build::run::LaunchCounts;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{Event, LaunchOutcome, LaunchSums, Op, Site, StreamId};

use super::counts::{CountVariation, Order, WITHOUT_WAITS};
use super::tests::{Fault, capture, counted};

fn counts_equal(
    scan: &CaptureScan,
    counts: Option<&[LaunchCounts]>,
    same: Reproducibility,
) -> Check {
    CountVariation::default().counts_equal(scan, counts, same)
}

#[test]
fn counts_that_differ_from_the_counting_run_fail() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), Fault::default());
    let scan = scan(&capture).unwrap();
    let check = counts_equal(&scan, Some(&counted(64)), Reproducibility::Digests);
    assert!(
        check.ok && check.detail == "132 thread accesses in 2 launches",
        "{check:?}"
    );
    let check = counts_equal(&scan, Some(&counted(65)), Reproducibility::Digests);
    let expected = "launch 1 of stream 0 (kernel), site 0 (load at toy.cu:10): 64 thread accesses traced, 65 counted";
    assert!(!check.ok && check.detail == expected, "{check:?}");
    assert!(
        counts_equal(&scan, Some(&counted(65)), Reproducibility::Launches).ok,
        "accesses that vary are not compared"
    );
    assert!(
        !counts_equal(&scan, Some(&counted(64)[..1]), Reproducibility::Digests).ok,
        "a launch is missing"
    );
    assert!(
        !counts_equal(&scan, None, Reproducibility::Digests).ok,
        "there are no counts"
    );
}

#[test]
fn only_differences_between_counting_runs_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), Fault::default());
    let scan = scan(&capture).unwrap();
    let compare = |varying: &CountVariation, counts: &[LaunchCounts]| {
        varying.counts_equal(&scan, Some(counts), Reproducibility::Digests)
    };
    let mut varying = CountVariation::default();
    varying.add(&counted(65), &counted(65));
    assert!(
        !compare(&varying, &counted(65)).ok,
        "two equal runs show no variation"
    );
    varying.add(&counted(65), &counted(66));
    let check = compare(&varying, &counted(65));
    assert!(
        check.ok && check.warning && check.detail.contains("without kernel,"),
        "{check:?}"
    );
    assert!(
        !compare(&varying, &counted(64)[..1]).ok,
        "a launch is missing"
    );
    let mut varying = CountVariation::default();
    varying.add(&counted(64), &counted(64)[..1]);
    let check = compare(&varying, &counted(64)[..1]);
    assert!(
        check.ok
            && check
                .detail
                .contains("66 thread accesses, without the launches,"),
        "{check:?}"
    );
    assert!(
        !compare(&varying, &counted(65)).ok,
        "the launches that both runs have must agree"
    );
}

#[test]
fn only_operations_that_wait_are_excluded() {
    let folder = tempfile::tempdir().unwrap();
    let site = |local, waits| Site {
        waits,
        function: "k".into(),
        ..testing::site(local, Op::Load)
    };
    let sites = vec![site(0, true), site(1, false)];
    let module = testing::module("toy.cu", sites, &[("k", "kernel"), ("m", "other")]);
    let launch = testing::launch("k", 1, 32);
    let traced = |polls: u64, name: &str| {
        let mut capture = CaptureBuilder::new(&folder.path().join(name), &module);
        let polls = (0..polls).map(|_| testing::group(0, 0, [0x1000]));
        let loads = testing::group(1, 0, testing::words(0x2000));
        capture.launch(launch.clone(), &[polls.chain([loads]).collect::<Vec<_>>()]);
        capture.finish()
    };
    let (capture, other) = (traced(3, "one"), traced(7, "other"));
    let (scan, other) = (scan(&capture).unwrap(), scan(&other).unwrap());
    let counted = |polls, loads| LaunchCounts {
        stream: 0,
        launch: 0,
        kernel: "k".into(),
        sites: vec![(0, polls), (1, loads)],
    };
    let check = counts_equal(&scan, Some(&[counted(9, 32)]), Reproducibility::Digests);
    assert!(
        check.ok && check.detail.starts_with("32 thread accesses"),
        "{check:?}"
    );
    assert!(check.detail.contains(WITHOUT_WAITS), "{check:?}");
    assert!(!counts_equal(&scan, Some(&[counted(3, 31)]), Reproducibility::Digests).ok);
    // The trace contains the loads that wait; totals and digests for comparisons do not.
    let loads = |totals: super::Totals| totals.threads.loads;
    assert_eq!(loads(super::totals(&scan)), 35);
    assert_eq!(loads(super::steady_totals(&scan)), 32);
    assert_eq!(scan.digest.words, other.digest.words);

    // In situ, the kernel's loads are not compared, but its stores are.
    let mut capture = CaptureBuilder::new(&folder.path().join("sums"), &module);
    let begun = capture.begin(launch.clone());
    let mut sums = LaunchSums::new(begun.stream, begun.launch);
    sums.loads.threads = 50;
    sums.stores.threads = 4;
    let accesses = sums.thread_accesses();
    capture.event(&Event::Sums(sums));
    capture.end_with(&begun, accesses, LaunchOutcome::Completed);
    let sums = capture.finish();
    let sums = superstep_analysis::scan::scan(&sums).unwrap();
    let check = counts_equal(&sums, Some(&[counted(3, 32)]), Reproducibility::Digests);
    let expected = "4 thread stores added up, 0 counted";
    assert!(!check.ok && check.detail.ends_with(expected), "{check:?}");
}

#[test]
fn launches_of_multiple_threads_are_compared_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let site = testing::site(0, Op::Load);
    let module = testing::module("toy.cu", vec![site], &[("k", "kernel"), ("m", "other")]);
    let mut capture = CaptureBuilder::new(folder.path(), &module);
    // Two streams. The first launch loads in one lane, the second in two, and so on.
    for (stream, kernel, lanes) in [(1, "k", 1), (2, "k", 2), (1, "m", 3), (2, "m", 4)] {
        let launch = superstep_trace::Launch {
            stream: StreamId(stream),
            ..testing::launch(kernel, 1, 32)
        };
        let addresses: Vec<u64> = (0..lanes).map(|lane| 0x1000 + 4 * lane).collect();
        capture.launch(launch, &[[testing::group(0, 0, addresses)]]);
    }
    let capture = capture.finish();
    let scan = scan(&capture).unwrap();
    let counts = |launches: [(u32, &str, u64); 4]| -> Vec<LaunchCounts> {
        let mut next = HashMap::new();
        let count = |(stream, kernel, accesses): (u32, &str, u64)| {
            let number = next.entry(stream).or_insert(0);
            *number += 1;
            LaunchCounts {
                stream,
                launch: *number - 1,
                kernel: kernel.into(),
                sites: vec![(0, accesses)],
            }
        };
        launches.map(count).into()
    };
    let swapped = counts([(1, "k", 2), (2, "k", 1), (1, "m", 4), (2, "m", 3)]);
    let mixed = counts([(1, "m", 3), (1, "k", 1), (2, "k", 2), (2, "m", 4)]);
    let wrong = counts([(1, "k", 2), (2, "k", 1), (1, "m", 4), (2, "m", 4)]);
    let check = |order, counts: &[LaunchCounts]| {
        CountVariation::new(order).counts_equal(&scan, Some(counts), Reproducibility::Digests)
    };
    for counts in [&swapped, &mixed] {
        assert!(!check(Order::Fixed, counts).ok);
        let check = check(Order::Threads(2), counts);
        assert!(
            check.ok && check.detail.contains("2 host threads"),
            "{check:?}"
        );
    }
    let check = check(Order::Threads(2), &wrong);
    assert!(!check.ok && check.detail.contains("(other)"), "{check:?}");
    let mut varying = CountVariation::new(Order::Threads(2));
    varying.add(&swapped, &mixed);
    assert!(varying.kernels.is_empty() && !varying.launches);
    varying.add(&swapped, &wrong);
    assert!(varying.kernels.contains("m") && varying.kernels.len() == 1);
    assert!(!varying.launches);
}

#[test]
fn a_program_without_kernels_needs_no_counts() {
    let folder = tempfile::tempdir().unwrap();
    let module = testing::module("toy.cu", Vec::new(), &[]);
    let capture = CaptureBuilder::new(folder.path(), &module).finish();
    assert!(counts_equal(&scan(&capture).unwrap(), None, Reproducibility::Digests).ok);
}
