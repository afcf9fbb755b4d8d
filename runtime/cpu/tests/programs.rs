//! Runs whole programs with the runtime, and checks kernel results, errors, faults and captures.

mod common;

use common::{Run, programs};
use std::collections::BTreeMap;
use superstep_trace::digest::{Hasher, Known};
use superstep_trace::{
    AllocationKind, Capture, GroupBuffer, HostEvent, LaunchDigest, LaunchOutcome, LaunchRecord,
};

/// Accesses by (launch, CTA, thread), in file order for each thread: (site within the module, allocation, offset).
type Accesses = BTreeMap<(u32, u32, u32), Vec<(u32, String, u64)>>;

fn accesses(capture: &Capture) -> Accesses {
    let mut all = Accesses::new();
    capture
        .groups(|record, group| {
            for (thread, address) in group.threads() {
                let found = record.allocations.find(address);
                let found = found.expect("inside an allocation");
                let offset = address - found.address;
                let access = (group.site.local(), found.key.to_string(), offset);
                all.entry((record.launch.launch.0, group.cta, thread))
                    .or_default()
                    .push(access);
            }
        })
        .unwrap();
    all
}

fn assert_clean(run: &Run) {
    let summary = run.summary.as_ref().unwrap();
    assert_eq!(
        (
            summary.faults.len(),
            summary.records_lost,
            summary.bad_addresses
        ),
        (0, 0, 0),
        "{summary:?}"
    );
    let capture = run.capture();
    assert!(capture.complete, "{:?}", capture.problems);
    assert_eq!(capture.verify().unwrap(), Vec::<String>::new());
}

#[test]
fn kernels_compute_correct_results() {
    let Some(programs) = programs() else { return };
    for probe in ["trace", "count"] {
        for workers in [1, 3] {
            for name in ["add", "shape", "reverse", "warp", "atomics", "streams"] {
                let run = programs.run(probe, &[name], workers);
                run.assert_done(name);
                assert_clean(&run);
            }
        }
    }
}

#[test]
fn the_capture_of_a_simple_kernel_is_exact() {
    let Some(programs) = programs() else { return };
    let run = programs.run("trace", &["add"], 2);
    let capture = run.capture();
    let mut expected = Accesses::new();
    for launch in 0..3 {
        for i in 0..1000u32 {
            let offset = u64::from(i) * 4;
            let log = (0..3)
                .map(|site| (site, format!("#{site}"), offset))
                .collect();
            expected.insert((launch, i / 70, i % 70), log);
        }
    }
    assert_eq!(accesses(&capture), expected);
    // All lanes of a warp are in one group, even in the last, partial warp of a CTA (70 threads).
    let mut lanes = BTreeMap::new();
    capture
        .groups(|_, group| *lanes.entry(group.lanes()).or_insert(0) += 1)
        .unwrap();
    // 14 full CTAs of 32 + 32 + 6 lanes, and one with 20 lanes; 3 sites, 3 launches.
    assert_eq!(lanes, BTreeMap::from([(32, 28 * 9), (20, 9), (6, 14 * 9)]));
}

#[test]
fn the_capture_contains_host_events() {
    let Some(programs) = programs() else { return };
    let capture = programs.run("trace", &["add"], 1).capture();
    let mut copies = 0;
    let (mut heap, mut symbols, mut memsets, mut frees) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for timed in capture.replay() {
        match timed.event {
            HostEvent::Allocate(allocation) => match &allocation.kind {
                AllocationKind::Device => heap.push(allocation.bytes),
                AllocationKind::Symbol { name } => symbols.push(name.as_str()),
                _ => {}
            },
            HostEvent::Memset(memset) => memsets.push((memset.bytes, memset.value)),
            HostEvent::Copy(copy) => copies += usize::from(copy.bytes == 4000),
            HostEvent::Free(_) => frees += 1,
            _ => {}
        }
    }
    assert_eq!(
        (heap, symbols),
        (vec![4000; 3], vec!["device_counter"]),
        "constant memory is not global"
    );
    assert_eq!((copies, memsets, frees), (3, vec![(4000, 255)], 1));
    let launch = capture.launches().next().unwrap().launch;
    assert_eq!(
        (launch.kernel.as_str(), launch.grid, launch.block),
        ("add", [16, 1, 1], [70, 1, 1])
    );
    assert_eq!(capture.modules[0].kernels[0].display_name, "add_display");
}

#[test]
fn fibers_log_in_program_order_and_warps_stay_together() {
    let Some(programs) = programs() else { return };
    let capture = programs.run("trace", &["reverse"], 2).capture();
    let logs = accesses(&capture);
    // The first launch has 40 CTAs of 256 threads; each thread loads (site 4), passes barriers, and stores (site 5).
    for cta in 0..40 {
        for thread in 0..256 {
            let offset = u64::from(cta * 256 + thread) * 4;
            assert_eq!(
                logs[&(0, cta, thread)],
                [(4, "#0".to_owned(), offset), (5, "#1".to_owned(), offset)]
            );
        }
    }
    capture
        .groups(|LaunchRecord { launch, .. }, group| {
            assert!(launch.launch.0 != 0 || group.lanes() == 32)
        })
        .unwrap();
}

#[test]
fn counts_match_the_capture() {
    let Some(programs) = programs() else { return };
    for name in ["add", "reverse", "atomics", "warp"] {
        let capture = programs.run("trace", &[name], 2).capture();
        let mut traced: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        capture
            .groups(|LaunchRecord { launch, .. }, group| {
                *traced.entry((launch.launch.0, group.site.0)).or_default() += group.lanes() as u64
            })
            .unwrap();
        let run = programs.run("count", &[name], 2);
        let launches = run.summary.unwrap().counts.unwrap();
        let counted: BTreeMap<(u32, u32), u64> = launches
            .iter()
            .flat_map(|launch| {
                launch
                    .sites
                    .iter()
                    .map(|&(site, count)| ((launch.launch, site), count))
            })
            .collect();
        assert_eq!(counted, traced, "{name}");
        assert!(!counted.is_empty());
    }
}

fn digest(capture: &Capture, record: &LaunchRecord) -> LaunchDigest {
    let mut known = Known::default();
    let mut hasher = Hasher::new(record, capture.sites(), &mut known);
    let mut buffer = GroupBuffer::default();
    for chunk in record.chunks {
        let read = capture.read_chunk(chunk, &mut buffer, |group| {
            hasher.add(group);
        });
        read.unwrap();
    }
    hasher.finish()
}

#[test]
fn digests_do_not_depend_on_the_number_of_workers() {
    let Some(programs) = programs() else { return };
    let digests = |workers| -> Vec<LaunchDigest> {
        let capture = programs.run("trace", &["reverse"], workers).capture();
        let records = capture.launches();
        records.map(|record| digest(&capture, &record)).collect()
    };
    let one = digests(1);
    assert_eq!(one.len(), 4);
    assert_eq!(one, digests(4));
}

#[test]
fn each_stream_numbers_its_launches() {
    let Some(programs) = programs() else { return };
    let capture = programs.run("trace", &["streams"], 2).capture();
    let launches: Vec<(u32, u32)> = capture
        .launches()
        .map(|record| (record.launch.stream.0, record.launch.launch.0))
        .collect();
    assert_eq!(launches, [(1, 0), (2, 0), (1, 1), (0, 0)]);
}

#[test]
fn long_running_threads_are_logged_while_they_run() {
    let Some(programs) = programs() else { return };
    let run = programs.run("trace", &["many", "300000", "40000"], 2);
    run.assert_done("many");
    assert_clean(&run);
    let expected = [
        ("many", 300_000),
        ("many_fibers", 64 * 40_000),
        ("many", 64 * 40_000),
    ];
    let capture = run.capture();
    for (record, (kernel, accesses)) in capture.launches().zip(expected) {
        let digest = digest(&capture, &record);
        assert_eq!(
            (record.launch.kernel.as_str(), digest.thread_accesses),
            (kernel, accesses)
        );
    }
}

#[test]
fn invalid_calls_return_cudas_error_codes() {
    let Some(programs) = programs() else { return };
    let run = programs.run("trace", &["errors"], 2);
    run.assert_done("errors");
    let summary = run.summary.unwrap();
    let warnings = summary.warnings.join("\n");
    for part in ["which ends 44 bytes too early", "which was freed"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    let faults = summary.faults.join("\n");
    let missing = "kernel missing is not in the device code";
    assert!(faults.contains(missing), "{faults}");
}

#[test]
fn kernel_faults_are_reported_and_sticky() {
    let Some(programs) = programs() else { return };
    let cases = [
        (
            0,
            700,
            "out-of-bounds access: it wrote to address 0x",
            // The nearest object depends on where the system placed the program's variables.
            "(store of 4 bytes at device.cu:196617), ",
        ),
        (
            1,
            700,
            "out-of-bounds access: it read from address 0x0",
            "a null pointer",
        ),
        (2, 710, "assertion `i != 40` failed at device.c:40", ""),
        (3, 719, "the kernel stopped itself (trap)", ""),
        (4, 719, "integer division by zero", ""),
        (
            5,
            700,
            "the thread's stack overflowed",
            "SUPERSTEP_CPU_STACK_KIB",
        ),
        (6, 700, "an address that cannot exist", ""),
    ];
    for (scenario, code, first, second) in cases {
        for fibers in ["0", "1"] {
            let run = programs.run("trace", &["fail", &scenario.to_string(), fibers], 2);
            run.assert_done(first);
            // The launch itself succeeds, everything after it fails, and kernels run again after a reset.
            assert_eq!(run.stdout(), format!("0\n{code}\n{code}\n{code}\ndone\n"));
            let faults = run.summary.as_ref().unwrap().faults.join("\n");
            let kernel = if fibers == "1" { "fail_fibers" } else { "fail" };
            assert!(
                faults.starts_with(&format!("kernel {kernel}, CTA (0,0,0), thread (40,0,0): ")),
                "{faults}"
            );
            assert!(
                faults.contains(first) && faults.contains(second),
                "{faults}"
            );
            let capture = run.capture();
            assert!(capture.complete, "{:?}", capture.problems);
            let outcomes: Vec<bool> = (capture.launches())
                .filter_map(|record| record.end)
                .map(|end| end.outcome == LaunchOutcome::Completed)
                .collect();
            assert_eq!(outcomes, [false, true]);
            // Accesses before the fault are in the capture: thread 40 is the ninth of its warp, and fibers' warps
            // alternate.
            let mut count = 0;
            capture
                .groups(|LaunchRecord { launch, .. }, group| {
                    count += usize::from(launch.launch.0 == 0) * group.lanes()
                })
                .unwrap();
            assert!(
                count >= 9,
                "scenario {scenario}, fibers {fibers}: {count} accesses"
            );
        }
    }
}

#[test]
fn memory_that_a_gpu_maps_past_an_allocation_is_accessible_with_a_warning() {
    let Some(programs) = programs() else { return };
    for fibers in ["0", "1"] {
        let run = programs.run("trace", &["fail", "7", fibers], 2);
        run.assert_done("fail 7");
        assert_eq!(run.stdout(), "0\n0\n0\n0\ndone\n");
        let summary = run.summary.unwrap();
        assert!(summary.faults.is_empty() && summary.bad_addresses == 0);
        let warnings = summary.warnings.join("\n");
        for part in [
            "out-of-bounds access: it wrote to address 0x",
            "store of 4 bytes at device.cu:196617 extends past an allocation",
            "0 bytes past the end of the 512-byte allocation",
        ] {
            assert!(warnings.contains(part), "{part}: {warnings}");
        }
    }
}

#[test]
fn a_failed_assertion_is_printed_in_cudas_format() {
    let Some(programs) = programs() else { return };
    let stderr = programs.run("trace", &["fail", "2", "0"], 1).stderr();
    let expected =
        "device.c:40: fail(int *): block: [0,0,0], thread: [40,0,0] Assertion `i != 40` failed.\n";
    assert!(stderr.contains(expected), "{stderr}");
}

#[test]
fn threads_that_wait_for_each_other_forever_are_reported() {
    let Some(programs) = programs() else { return };
    let run = programs.run("trace", &["deadlock"], 1);
    run.assert_done("deadlock");
    let expected = "kernel deadlock, CTA (0,0,0): its threads wait for each other forever: threads 0-31 wait at barrier 0 (32 of 64 arrived), \
                    threads 32-63 wait at barrier 1 (32 of 64 arrived)";
    assert_eq!(run.summary.unwrap().faults, [expected]);
}

#[test]
fn a_matrix_operation_needs_a_whole_warp() {
    let Some(programs) = programs() else { return };
    let partial_warp =
        "a matrix operation was executed by only 16 of the warp's 32 lanes; it needs all of them";
    for (lanes, what) in [("32", "it read from address 0x"), ("16", partial_warp)] {
        let run = programs.run("trace", &["load_rows", lanes], 1);
        run.assert_done(lanes);
        let faults = run.summary.unwrap().faults.join("\n");
        assert!(faults.contains(what), "{faults}");
    }
}

#[test]
fn device_printf_is_in_order_with_the_hosts_output() {
    let Some(programs) = programs() else { return };
    let run = programs.run("trace", &["print"], 1);
    let lines = "before\nthread 0:  2.50 text 1099511627776%\nthread 1:  2.50 text 1099511627776%\nafter\ndone\n";
    assert_eq!(run.stdout(), lines);
}

#[test]
fn device_malloc_address_space_queries_and_early_exits_work() {
    let Some(programs) = programs() else { return };
    let run = programs.run("trace", &["allocate"], 2);
    run.assert_done("allocate");
    assert_clean(&run);
    // The heap's allocation precedes the launch that creates it, so each address is in an allocation.
    assert_eq!(accesses(&run.capture()).len(), 40);
}

#[test]
fn ctas_can_wait_for_ctas_that_start_later() {
    let Some(programs) = programs() else { return };
    for workers in [1, 2] {
        let run = programs.run("trace", &["wait"], workers);
        run.assert_done("wait");
        assert_clean(&run);
    }
}

#[test]
fn unsupported_functions_are_named() {
    let Some(programs) = programs() else { return };
    let run = programs.run("trace", &["graph"], 1);
    assert_eq!(run.output.status.code(), Some(70));
    assert_eq!(
        run.stderr(),
        "superstep: error: cudaGraphConditionalHandleCreate: Superstep does not support conditional graph nodes; let the host decide which graphs it launches\n"
    );
    assert!(run.summary.unwrap().faults[0].contains("cudaGraphConditionalHandleCreate"));
}

#[test]
fn a_crashed_program_leaves_a_readable_capture() {
    use std::os::unix::process::ExitStatusExt;
    let Some(programs) = programs() else { return };
    for (name, signal) in [("abort", 6), ("crash", 11)] {
        let run = programs.run("trace", &[name], 2);
        assert_eq!(
            run.output.status.signal(),
            Some(signal),
            "{name}: a signal in host code terminates the program"
        );
        let capture = run.capture();
        assert!(!capture.complete && !capture.damaged);
        assert_eq!(accesses(&capture).len(), 3000);
    }
}
