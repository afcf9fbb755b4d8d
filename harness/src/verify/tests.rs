//! Tests of the capture checks: each check must be able to fail.

use std::path::Path;

use superstep_analysis::run_summary::{Check, NotCompared, Reproducibility};
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::{AccessGroup, AllocationKind, Capture, LaunchOutcome, Op, Site, SourcePlace};

use super::*;
use superstep_build::manifest::Expected;
use superstep_build::run::LaunchCounts;

const BASE: u64 = 0x1000;

/// Changes that a test makes to a correct capture.
#[derive(Clone, Copy, Default)]
pub(super) struct Fault {
    pub(super) cta: u32,
    pub(super) warp: u32,
    pub(super) address: u64,
    pub(super) store_address: u64,
    pub(super) site: u16,
    pub(super) width_bytes: u32,
    pub(super) announced: u64,
    /// Whether memory is allocated with `cudaMalloc`, so that the rest of the GPU's page is accessible.
    pub(super) on_device: bool,
    /// Number of times that each access is repeated.
    pub(super) repetitions: usize,
}

/// Writes a capture of two launches of one kernel with 2 CTAs of 32 threads: each thread loads, and thread 0 of each
/// CTA stores. `fault` applies to the second launch.
pub(super) fn capture(folder: &Path, fault: Fault) -> Capture {
    let site = |local, op| Site {
        function: "k".into(),
        file: "toy.cu".into(),
        ..testing::site(local, op)
    };
    let sites = vec![site(0, Op::Load), site(1, Op::Store)];
    let module = testing::module("toy.cu", sites, &[("k", "kernel")]);
    let mut capture = CaptureBuilder::new(folder, &module);
    let kind = match fault.on_device {
        true => AllocationKind::Device,
        false => AllocationKind::Managed,
    };
    let place = SourcePlace {
        file: "main.cu".into(),
        line: 7,
        column: 3,
    };
    capture.allocate_from(Some(place), BASE, 256, kind);
    for fault in [Fault::default(), fault] {
        let launch = capture.begin(testing::launch("k", 2, 32));
        let mut groups = Vec::new();
        for cta in 0..2 {
            let array = (BASE + 128 * u64::from(cta)).wrapping_add(fault.address);
            groups.push(AccessGroup {
                cta: cta + fault.cta,
                warp: fault.warp,
                width_bytes: 4 + fault.width_bytes,
                ..testing::group(0, cta, testing::words(array))
            });
            groups.push(testing::group(
                1 + fault.site,
                cta,
                [BASE + fault.store_address],
            ));
        }
        let groups = groups.repeat(1 + fault.repetitions);
        capture.chunk(&launch, &groups);
        let accesses: usize = groups.iter().map(AccessGroup::lanes).sum();
        let announced = accesses as u64 + fault.announced;
        capture.end_with(&launch, announced, LaunchOutcome::Completed);
    }
    capture.finish()
}

/// Returns the checks that fail for `fault`, with their messages.
fn failing(fault: Fault) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), fault);
    let checks = checks(&scan(&capture).unwrap());
    checks
        .into_iter()
        .filter(|check| !check.ok)
        .map(|check| (check.check, check.detail))
        .collect()
}

#[test]
fn a_correct_capture_passes_all_checks() {
    assert_eq!(failing(Fault::default()), []);
}

#[test]
fn a_cta_or_thread_outside_the_launch_is_found() {
    for fault in [
        Fault {
            cta: 2,
            ..Fault::default()
        },
        Fault {
            warp: 1,
            ..Fault::default()
        },
    ] {
        let found = failing(fault);
        assert_eq!((found.len(), found[0].0.as_str()), (1, "inside-grid"));
        let detail = &found[0].1;
        assert!(detail.starts_with("2 access groups; the first: launch 1 of stream 0 (kernel), site 0 (load at toy.cu:10)"), "{detail}");
    }
}

#[test]
fn an_access_that_is_partly_outside_every_allocation_is_found() {
    for address in [0x8000, 2] {
        let found = failing(Fault {
            address,
            ..Fault::default()
        });
        assert_eq!(
            (found.len(), found[0].0.as_str()),
            (1, "inside-allocations"),
            "{found:?}"
        );
    }
    assert!(
        failing(Fault {
            address: 2,
            ..Fault::default()
        })[0]
            .1
            .contains("0x10fe"),
        "the last thread of the last CTA"
    );
}

#[test]
fn repeated_accesses_outside_allocations_all_count() {
    let found = failing(Fault {
        store_address: 0x7000,
        repetitions: 4,
        ..Fault::default()
    });
    let detail = &found[0].1;
    assert!(detail.starts_with("10 access groups; "), "{detail}");
}

#[test]
fn accesses_outside_allocations_name_each_line_and_the_array() {
    let found = failing(Fault {
        address: 2,
        store_address: 0x7000,
        ..Fault::default()
    });
    let detail = &found[0].1;
    assert!(detail.starts_with("3 access groups; "), "{detail}");
    for part in [
        "(load at toy.cu:10): address 0x10fe",
        ", while other lanes of the warp access allocation #0 (256 bytes, allocated at main.cu:7); launch 1",
        "(store at toy.cu:11): address 0x8000",
        ", 28416 bytes past allocation #0 (256 bytes, allocated at main.cu:7)",
    ] {
        assert!(detail.contains(part), "{part}: {detail}");
    }
}

#[test]
fn an_access_past_the_end_of_a_device_allocation_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let fault = |address| Fault {
        address,
        on_device: true,
        ..Fault::default()
    };
    let capture = capture(folder.path(), fault(2));
    let warned: Vec<_> = (checks(&scan(&capture).unwrap()).into_iter())
        .filter(|check| check.warning)
        .collect();
    assert_eq!((warned.len(), &*warned[0].check), (1, "inside-allocations"));
    assert!(
        warned[0].ok && warned[0].detail.contains("0x10fe"),
        "{warned:?}"
    );
    assert_eq!(failing(fault(2 << 20))[0].0, "inside-allocations");
}

#[test]
fn an_unknown_site_or_width_is_found() {
    assert_eq!(
        failing(Fault {
            site: 5,
            ..Fault::default()
        })[0]
            .0,
        "known-sites"
    );
    let wide = failing(Fault {
        width_bytes: 4,
        ..Fault::default()
    });
    assert!(
        wide.iter()
            .any(|(check, detail)| check == "known-sites" && detail.contains("8 bytes wide")),
        "{wide:?}"
    );
}

#[test]
fn totals_that_do_not_add_up_are_found() {
    let found = failing(Fault {
        announced: 1,
        ..Fault::default()
    });
    assert_eq!((found.len(), found[0].0.as_str()), (1, "launch-totals"));
    assert!(
        found[0]
            .1
            .contains("67 thread accesses announced, 66 in the capture"),
        "{found:?}"
    );
}

#[test]
fn totals_are_the_sums_over_launches() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), Fault::default());
    let totals = totals(&scan(&capture).unwrap());
    assert_eq!(
        (
            totals.launches,
            totals.ctas,
            totals.threads.loads,
            totals.threads.stores
        ),
        (2, 4, 128, 4)
    );
    assert_eq!((totals.bytes.loaded, totals.bytes.stored), (512, 16));
    assert_eq!(
        (totals.kernels.len(), totals.kernels[0].name.as_str()),
        (1, "kernel")
    );
}

#[test]
fn the_digest_matches_the_trace_library() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), Fault::default());
    let digests = testing::digests(&capture).unwrap();
    let scan = scan(&capture).unwrap();
    let ours: Vec<_> = scan.launches.iter().map(|launch| launch.digest).collect();
    assert_eq!(
        ours,
        digests
            .into_iter()
            .map(|(_, digest)| digest)
            .collect::<Vec<_>>()
    );
}

pub(super) fn counted(loads: u64) -> Vec<LaunchCounts> {
    let launch = |launch, loads| LaunchCounts {
        stream: 0,
        launch,
        kernel: "k".into(),
        sites: vec![(0, loads), (1, 2)],
    };
    vec![launch(0, 64), launch(1, loads)]
}

#[test]
fn expected_counts_are_checked_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), Fault::default());
    let scan = scan(&capture).unwrap();
    let totals = totals(&scan);
    let check = |expected: Expected| expected_counts(&expected, &totals, &scan);
    assert!(check(Expected::default()).is_none());
    let right = Expected {
        launches: Some(2),
        ctas_each_launch: Some(2),
        thread_loads: Some(128),
        ..Expected::default()
    };
    assert!(check(right).unwrap().ok);
    let wrong = check(Expected {
        thread_stores: Some(5),
        ..right
    })
    .unwrap();
    assert!(
        !wrong.ok && wrong.detail == "5 thread stores expected, 4 found",
        "{wrong:?}"
    );
    assert!(
        !check(Expected {
            ctas_each_launch: Some(3),
            ..right
        })
        .unwrap()
        .ok
    );
}

fn golden(capture: &Capture, llvm: &str, level: Reproducibility) -> Golden {
    let scan = scan(capture).unwrap();
    let totals = totals(&scan);
    Golden::new(&scan, &totals, (llvm, 90), &[], level)
}

/// Compares `now`, which describes `capture`, with `golden`.
fn compared(golden: Option<&Golden>, now: &Golden, capture: &Capture) -> Check {
    compare_with_golden(golden, now, &scan(capture).unwrap())
}

#[test]
fn golden_results_locate_the_difference() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = capture(one.path(), Fault::default());
    let original = golden(&first, "22", Reproducibility::Digests);
    // A different offset in the allocation changes the digest but not the counts.
    let moved = capture(
        two.path(),
        Fault {
            warp: 0,
            address: u64::MAX - 3,
            ..Fault::default()
        },
    );
    let other = golden(&moved, "22", Reproducibility::Digests);
    assert!(compared(Some(&original), &original, &first).ok);
    let check = compared(Some(&original), &other, &moved);
    assert!(
        check.failed()
            && check
                .detail
                .starts_with("launch 1 of stream 0 (kernel) is the first that differs"),
        "{check:?}"
    );
    // With fewer running digests, the location is less precise.
    let mut coarse = original.clone();
    coarse.running_digests.clear();
    let check = compared(Some(&coarse), &other, &moved);
    let place = "the first launch that differs is one of launches 0 to 1 in the order of the host's calls (kernel)";
    assert!(
        check.failed() && check.detail.starts_with(place),
        "{check:?}"
    );
    let vary = |capture: &Capture| golden(capture, "22", Reproducibility::Launches);
    assert!(
        compared(Some(&vary(&first)), &vary(&moved), &moved).ok,
        "only launches are compared"
    );
    let counts = |capture: &Capture| golden(capture, "22", Reproducibility::Counts);
    let accepted = counts(&first);
    assert!(compared(Some(&accepted), &counts(&moved), &moved).ok);
    assert!(compared(Some(&accepted), &with_loads(&counts(&moved), 1), &moved).failed());
    assert!(
        compared(Some(&original), &counts(&moved), &moved).ok,
        "a golden result from a backend with reproducible accesses"
    );
}

#[test]
fn a_missing_comparison_with_a_golden_result_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), Fault::default());
    let now = golden(&capture, "22", Reproducibility::Digests);
    let mut other_inputs = now.clone();
    other_inputs.inputs = vec![("graph".into(), "0".repeat(64))];
    let older = golden(&capture, "21", Reproducibility::Digests);
    let mut other_arch = with_loads(&now, 1);
    other_arch.gpu_arch = 80;
    let cases = [
        (None, NotCompared::NoGoldenResult),
        (Some(&other_inputs), NotCompared::OtherInputs),
        (Some(&older), NotCompared::OtherLlvm),
        (Some(&other_arch), NotCompared::OtherArchitecture),
    ];
    for (golden, why) in cases {
        let check = compared(golden, &now, &capture);
        assert_eq!((check.ok, check.not_compared), (false, Some(why)));
        assert!(
            !check.failed() && check.detail.contains("--bless"),
            "{check:?}"
        );
        let required = require_golden(&[check]).unwrap();
        assert!(
            required.failed() && required.detail.contains(&why.to_string()),
            "{required:?}"
        );
    }
    assert!(require_golden(&[golden_of_partial()]).unwrap().failed());
    assert!(require_golden(&[]).unwrap().failed(), "no golden folder");
    let agrees = compared(Some(&now), &now, &capture);
    assert_eq!(require_golden(&[agrees]), None);
    let differs = compared(Some(&with_loads(&now, 1)), &now, &capture);
    assert!(differs.failed(), "{differs:?}");
    assert_eq!(require_golden(&[differs]), None, "it was compared");
}

fn with_loads(golden: &Golden, more: u64) -> Golden {
    let mut changed = golden.clone();
    changed.kernels[0].loads += more;
    changed
}

#[test]
fn a_varying_number_of_launches_is_compared_per_launch() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture(folder.path(), Fault::default());
    let two = golden(&capture, "22", Reproducibility::CountsEachLaunch);
    let mut three = two.clone();
    three.launches = three.launches / 2 * 3;
    three.ctas = three.ctas / 2 * 3;
    for kernel in &mut three.kernels {
        let bytes = &mut kernel.bytes;
        for count in [
            &mut kernel.launches,
            &mut kernel.ctas,
            &mut kernel.loads,
            &mut kernel.stores,
            &mut kernel.atomics,
            &mut bytes.loaded,
            &mut bytes.stored,
            &mut bytes.atomic,
        ] {
            assert_eq!(*count % 2, 0, "both launches have the same counts");
            *count = *count / 2 * 3;
        }
    }
    let check = compared(Some(&two), &three, &capture);
    assert!(check.ok && check.detail.contains("by launch"), "{check:?}");
    assert!(compared(Some(&two), &with_loads(&three, 1), &capture).failed());

    let scan = scan(&capture).unwrap();
    let counts = |counts: &[LaunchCounts]| {
        CountVariation::default()
            .counts_equal(&scan, Some(counts), Reproducibility::CountsEachLaunch)
            .ok
    };
    assert!(counts(&counted(64)));
    assert!(
        counts(&counted(64)[..1]),
        "one launch fewer is not a difference"
    );
    assert!(
        !counts(&counted(65)),
        "a different count in one launch is a difference"
    );
}

#[test]
fn golden_files_are_read_back_and_invalid_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let now = golden(
        &capture(&folder.path().join("capture"), Fault::default()),
        "22",
        Reproducibility::Digests,
    );
    let path = folder.path().join("golden/toys/toy.tiny.json");
    assert_eq!(Golden::read(&path).unwrap(), None);
    now.write(&path).unwrap();
    assert_eq!(Golden::read(&path).unwrap(), Some(now));
    std::fs::write(&path, "{}").unwrap();
    assert!(Golden::read(&path).unwrap_err().message.contains("--bless"));
}
