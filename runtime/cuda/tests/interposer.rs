//! Tests of the library between a program and a stand-in for libcudart (no GPU): launches, events, faults and exits.

mod common;

use common::{Program, compile, library, sources};
use superstep_trace::{Allocation, AllocationKind, Gap, HostEvent};

/// Returns the number of accesses in a launch with `rounds` rounds: 8 CTAs, 2 sites, 32 lanes.
const fn accesses_of(rounds: u64) -> u64 {
    rounds * 8 * 2 * 32
}

#[test]
fn every_access_arrives_in_its_launch() {
    let run = Program::build("trace").run("ok");
    assert!(run.status.success(), "{}", run.stderr);
    let is_warning =
        |line: &&str| line.contains("that Superstep did not build (first: _Z5plainPf)");
    assert_eq!(
        run.stderr.lines().filter(is_warning).count(),
        1,
        "{}",
        run.stderr
    );
    assert!(
        run.capture.complete && run.capture.problems.is_empty(),
        "{:?}",
        run.capture.problems
    );
    let summary = run.summary();
    assert_eq!(
        (summary.launches, summary.records_lost, summary.faults.len()),
        (10, 0, 0),
        "{:?}",
        summary.faults
    );
    assert_eq!(summary.device.name, "Fake GPU");
    let traced = |stream: u32, number: u32| accesses_of(50 * u64::from(number * 2 + stream));
    let mut expected: Vec<_> = (0..2)
        .flat_map(|stream| (0..5).map(move |number| (stream, number, traced(stream, number), None)))
        .collect();
    expected.sort();
    assert_eq!(run.endings(), expected);
    let [plain] = &summary.opaque[..] else {
        panic!("{:?}", summary.opaque);
    };
    assert_eq!((&*plain.name, plain.launches), ("_Z5plainPf", 10));
    for stream in 0..2 {
        let whole: u64 = (0..5).map(|number| traced(stream, number)).sum();
        assert_eq!(run.accesses(stream), whole);
    }
}

#[test]
fn host_actions_are_recorded() {
    let run = Program::build("trace").run("ok");
    let count = |predicate: fn(&HostEvent) -> bool| {
        let steps = run.capture.replay().map(|timed| timed.event);
        steps.filter(predicate).count()
    };
    assert_eq!(
        count(|step| matches!(step, HostEvent::Copy(_))),
        1 + 4 + 1,
        "one copy, four rows, one symbol"
    );
    let kinds: Vec<_> = (run.capture.allocations().iter())
        .map(|allocation| (allocation.bytes, allocation.kind.clone()))
        .collect();
    let symbol = AllocationKind::Symbol {
        name: "variable".to_owned(),
    };
    assert_eq!(kinds, [(1024, AllocationKind::Device), (256, symbol)]);
    let is_fill = |step: &HostEvent| matches!(step, HostEvent::Memset(fill) if (fill.bytes, fill.value) == (512, 3));
    assert!(count(is_fill) > 0);
    assert_eq!(count(|step| matches!(step, HostEvent::Free(_))), 1);
    let launch = (run.capture.launches().next())
        .expect("there are launches")
        .launch;
    assert_eq!(
        (launch.grid, launch.block, launch.static_shared_bytes),
        ([8, 1, 1], [32, 1, 1], 48)
    );
}

/// Another process's memory is an imported allocation while it is open. No two imported allocations overlap.
#[test]
fn memory_of_another_process_is_an_imported_allocation() {
    use AllocationKind::{Device, Imported};
    let run = Program::build("trace").run("processes");
    assert!(run.status.success(), "{}", run.stderr);
    let heap = (run.capture.allocations().iter())
        .filter(|allocation| !matches!(allocation.kind, AllocationKind::Symbol { .. }));
    let found: Vec<_> = heap
        .map(|a| (a.bytes, a.kind.clone(), a.freed.is_some()))
        .collect();
    let expected = [
        (1024, Device, false),
        (3072, Imported, true),
        (1024, Imported, true),
        (4096, Imported, true),
        (4096, Device, true),
        (4096, Device, false),
    ];
    assert_eq!(found, expected);
    let launches = run.capture.launches();
    let opened: Vec<_> = launches
        .map(|record| record.allocations.iter().count())
        .collect();
    assert_eq!(opened, [3, 4, 4]);
    let gaps =
        (run.capture.replay()).filter(|timed| timed.event == HostEvent::Gap(&Gap::SharedMemory));
    assert_eq!(gaps.count(), 1);
}

#[test]
fn counts_match_the_accesses_of_the_trace() {
    let run = Program::build("count").run("ok");
    assert!(run.status.success(), "{}", run.stderr);
    let counts = run.summary().counts.as_ref().expect("counts");
    let mut seen: Vec<_> = counts
        .iter()
        .map(|count| (count.stream, count.launch, count.sites.clone()))
        .collect();
    seen.sort();
    let sites = |rounds: u64| {
        if rounds == 0 {
            vec![]
        } else {
            vec![(0, rounds * 256), (1, rounds * 256)]
        }
    };
    let mut expected: Vec<_> = (0..5).map(|n| (0, n, sites(u64::from(n) * 100))).collect();
    expected.extend((0..5).map(|n| (1, n, sites(u64::from(n) * 100 + 50))));
    expected.sort();
    assert_eq!(seen, expected);
}

#[test]
fn an_untraced_program_is_only_timed() {
    // Untraced kernels have no trailing parameters, so the program launches the plain one.
    let run = Program::build("none").run("graph");
    assert_eq!(
        run.status.code(),
        Some(1),
        "without a probe, a captured launch is passed on"
    );
    assert!(run.summary().faults.is_empty());
}

#[test]
fn launches_without_a_device_are_a_fault() {
    let fault = "no kernel ran: failed to find a CUDA device: cudaErrorOther (injected error)";
    for mode in ["ok", "closed"] {
        let run = Program::build("trace").run_with(mode, &[("FAKE_NO_DEVICE", "")]);
        let summary = run.summary();
        assert_eq!(
            (summary.launches, &summary.faults[..]),
            (0, &[fault.to_owned()][..]),
            "{mode}"
        );
        assert_eq!(
            run.stderr.matches("no kernel ran").count(),
            1,
            "{mode}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_fault_ends_the_run_and_preserves_earlier_accesses() {
    let run = Program::build("trace").run("fault");
    assert_eq!(run.status.code(), Some(5));
    assert_eq!(run.stdout, "700\n700\n");
    let failed: Vec<_> = run
        .endings()
        .into_iter()
        .filter(|ending| ending.3.is_some())
        .collect();
    let reason = "cudaErrorIllegalAddress (injected error)";
    assert!(
        failed.contains(&(1, 5, accesses_of(20), Some(reason.to_owned()))),
        "{failed:?}"
    );
    assert!(failed.iter().any(|ending| ending.2 == 0
        && ending.3.as_deref() == Some(&format!("did not run: {reason}")[..])));
    assert!(
        run.summary()
            .faults
            .iter()
            .any(|fault| fault.contains("_Z8faultingPfm") && fault.contains(reason))
    );
    assert_eq!(run.summary().records_lost, 5);
    assert!(run.accesses(1) >= accesses_of(20));
}

#[test]
fn capture_is_complete_however_the_program_ends() {
    let program = Program::build("trace");
    let all: u64 = (0..10).map(|i| accesses_of(50 * i)).sum();
    let run = program.run("exit");
    assert_eq!(run.status.code(), Some(6));
    assert!(run.capture.complete);
    assert_eq!(run.accesses(0) + run.accesses(1), all);

    let run = program.run("kill");
    assert_eq!(run.status.code(), None);
    assert!(!run.capture.complete, "the end record was never written");
    assert_eq!(run.accesses(0) + run.accesses(1), all);

    let run = program.run("endless");
    assert!(run.status.success(), "{}", run.stderr);
    assert_eq!(run.accesses(0) + run.accesses(1), all + accesses_of(20));
    assert!(
        run.summary()
            .faults
            .iter()
            .any(|fault| fault.contains("the program ended before the kernel did"))
    );
}

#[test]
fn a_reset_ends_everything_and_the_program_can_start_over() {
    let run = Program::build("trace").run("reset");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(
        run.summary().faults.is_empty(),
        "{:?}",
        run.summary().faults
    );
    assert_eq!(
        run.endings()
            .iter()
            .find(|ending| ending.0 == 0 && ending.1 == 5)
            .map(|e| e.2),
        Some(accesses_of(7))
    );
    let is_symbol =
        |allocation: &&Allocation| matches!(allocation.kind, AllocationKind::Symbol { .. });
    assert_eq!(
        run.capture.allocations().iter().filter(is_symbol).count(),
        2
    );
}

/// The child neither waits for threads that only the parent has, nor writes to the parent's capture.
#[test]
fn a_fork_leaves_the_capture_to_the_parent() {
    let program = Program::build("trace");
    let run = program.run("fork");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(run.capture.complete, "{:?}", run.capture.problems);
    assert_eq!(run.endings().len(), 10);
    assert!(run.summary().faults.is_empty());
    let entries = std::fs::read_dir(program.folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name());
    let child_files = names.filter(|name| name.to_string_lossy().contains("pid-"));
    assert_eq!(child_files.count(), 0);
}

#[test]
fn exits_without_exit_handlers_wait_for_the_device() {
    for (probe, mode) in [
        ("trace", "_exit"),
        ("trace", "quick_exit"),
        ("trace", "exec"),
        ("count", "_exit"),
    ] {
        let program = Program::build(probe);
        let run = program.run(mode);
        assert_eq!(run.status.code(), Some(6), "{mode}: {}", run.stderr);
        assert_eq!(run.endings().len(), 10, "{probe}, {mode}");
        let summary = run.summary();
        assert!(!summary.ended, "{mode}");
        assert_eq!((summary.launches, summary.faults.len()), (10, 0), "{mode}");
        let counts = summary.counts.iter().flatten();
        let counted = counts.flat_map(|launch| &launch.sites);
        let counted: u64 = counted.map(|(_, count)| count).sum();
        let expected = (0..10).map(|number| accesses_of(50 * number)).sum();
        let traced = run.accesses(0) + run.accesses(1);
        let [all, none] = [expected, 0];
        match probe {
            "count" => assert_eq!((counted, traced), (all, none)),
            _ => assert_eq!((counted, traced), (none, all), "{mode}"),
        }
    }
}

#[test]
fn processes_continue_after_a_failed_exec() {
    for (mode, launches) in [("no-exec", 11), ("others", 10)] {
        let run = Program::build("trace").run(mode);
        assert!(run.status.success(), "{mode}: {}", run.stderr);
        assert!(run.capture.complete, "{:?}", run.capture.problems);
        assert_eq!(run.summary().launches, launches, "{mode}");
    }
}

#[test]
fn a_kernel_that_never_ends_has_no_end_record() {
    let program = Program::build("trace");
    let run = program.run("endless-_exit");
    assert_eq!(run.status.code(), Some(6), "{}", run.stderr);
    assert_eq!(run.summary().launches, 10);
    let launches = run.capture.launches();
    let open: Vec<_> = launches.filter(|record| record.end.is_none()).collect();
    assert_eq!(open.len(), 1);
    assert!(open[0].launch.kernel.contains("endless"));
}

#[test]
fn streams_are_created_and_destroyed() {
    let run = Program::build("trace").run("streams");
    assert!(run.status.success(), "{}", run.stderr);
    for stream in 2..22 {
        assert_eq!(run.accesses(stream), accesses_of(3));
    }
}

#[test]
fn untraceable_calls_are_refused_by_name() {
    let program = Program::build("trace");
    let run = program.run("graph");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(
        run.summary()
            .faults
            .iter()
            .any(|fault| fault.contains("protocol thesis does not support CUDA graphs"))
    );
    let run = program.run("refused");
    assert_eq!(run.stdout, "9\n");
    assert!(run.summary().faults.is_empty());
    assert!(
        run.endings().iter().all(|ending| ending.3.is_none()),
        "a launch whose configuration CUDA refuses is not recorded"
    );
}

#[test]
fn an_oversized_cooperative_launch_is_the_programs_error() {
    let program = Program::build("trace");
    let run = program.run("cooperative-129");
    assert_eq!(run.stdout, "720\n");
    assert!(run.summary().faults.is_empty());
    assert!(run.endings().iter().all(|ending| ending.3.is_none()));
    // Here, the traced kernel's registers may be the reason.
    let run = program.run("cooperative-17");
    assert_eq!(run.stdout, "720\n");
    let faults = &run.summary().faults;
    assert!(
        matches!(&faults[..], [fault] if fault.contains("the cooperative launch has 17")),
        "{faults:?}"
    );
}

/// CUB does nothing and reports no error if its kernels are missing, so the run has to report it, even without tracing.
#[test]
fn a_kernel_that_no_image_contains_is_a_fault() {
    for probe in ["trace", "none"] {
        let program = Program::build(probe);
        for mode in ["absent-launch", "absent-query"] {
            let run = program.run(mode);
            assert_eq!(run.stdout, "98\n", "{probe}, {mode}");
            let [fault] = &run.summary().faults[..] else {
                panic!("{probe}, {mode}: {:?}", run.summary().faults);
            };
            assert!(fault.contains("_Z6absentPf"), "{fault}");
        }
    }
}

#[test]
fn each_device_has_separate_streams() {
    let run = Program::build("trace").run("device");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(
        run.summary().faults.is_empty(),
        "{:?}",
        run.summary().faults
    );
    // Stream 0 is the first device's default stream, and 1 is the one that the program created.
    assert_eq!(run.accesses(2), accesses_of(1));
}

#[test]
fn a_program_built_for_another_protocol_is_refused() {
    let program = Program::build("trace");
    let list = program.folder.path().join("stream.txt");
    std::fs::write(&list, "0abc\t0\tstream\tbinary\ttable.json\n").unwrap();
    let list = list.to_str().unwrap();
    let run = program.run_with("ok", &[("SUPERSTEP_MODULES", list)]);
    assert!(!run.status.success(), "{}", run.stderr);
    let faults = &run.summary().faults;
    assert!(
        faults
            .iter()
            .any(|fault| fault.contains("_Z6tracedPfm")
                && fault.contains("built for --protocol stream")),
        "{faults:?}"
    );
}

#[test]
fn the_watchdog_names_a_kernel_that_does_not_end() {
    let program = Program::build("trace");
    let run = program.run_with("slow", &[("SUPERSTEP_WATCHDOG_S", "1")]);
    assert!(run.status.success(), "{}", run.stderr);
    let warnings = &run.summary().warnings;
    assert!(
        warnings.iter().any(
            |warning| warning.contains("no progress for 1 s") && warning.contains("_Z4slowPfm")
        ),
        "{warnings:?}"
    );
}

#[test]
fn every_interposed_function_is_exported() {
    let name = std::ffi::CString::new(library().to_string_lossy().into_owned())
        .expect("no zero byte in a path");
    // SAFETY: the library's constructors do nothing; its functions are only looked up, not called.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(
        !handle.is_null(),
        "{} cannot be loaded",
        library().display()
    );
    for function in include_str!("exported.txt").split_whitespace() {
        let symbol = std::ffi::CString::new(function).expect("a plain name");
        // SAFETY: the handle is open.
        let found = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
        assert!(!found.is_null(), "{function} is not exported");
    }
}

#[test]
fn an_embedded_module_gets_the_binary_of_this_run() {
    let program = Program::build("none");
    let at = |name: &str| program.folder.path().join(name).display().to_string();
    let (from, to) = (sources().join("hooks.c"), at("hooks.so"));
    let flags = ["-shared", "-fPIC", "-o", &to].map(AsRef::as_ref);
    compile(&[&flags[..], &[from.as_ref()]].concat());
    // Files are found by absolute paths and by paths relative to the list.
    let table = at("table.json");
    let line = |hash: &str| format!("{hash}\t0\tthesis\tbinary\t{table}\thooks.so\n");
    std::fs::write(at("modules.txt"), line("0abc")).unwrap();
    let run = program.run_with("graph", &[("FAKE_SHOW_BINARY", "1")]);
    assert_eq!(run.stdout, "hooked\nthe binary\n", "{}", run.stderr);
    assert!(run.capture.sites().kernel("_Z6tracedPfm").is_some());
    std::fs::write(at("modules.txt"), line("0abd")).unwrap();
    let run = program.run_with("graph", &[]);
    assert_eq!(run.status.code(), Some(70), "{}", run.stdout);
    let names_the_file = |line: &str| {
        line.contains("failed to load the device code of /") && line.contains("--with ")
    };
    assert!(run.stderr.lines().any(names_the_file), "{}", run.stderr);
}
