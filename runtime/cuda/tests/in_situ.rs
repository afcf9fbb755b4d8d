//! Tests of in-situ runs without a GPU. The nodes of CUDA graphs run one at a time, as separate launches, each of which
//! changes shadow memory. Shadow memory is freed when the program needs the device's memory.

mod common;

use common::{Program, Run};
use superstep_trace::Recorded;

fn run(mode: &str, extra: &[(&str, &str)]) -> Run {
    let environment = [
        ("SUPERSTEP_PROTOCOL", "in-situ"),
        // The tables take up whatever memory is available.
        ("FAKE_MAX_BYTES", "33554432"),
    ];
    let environment = [&environment, extra].concat();
    Program::build_with("trace", "in_situ.c", "in-situ").run_with(mode, &environment)
}

#[test]
fn the_nodes_of_a_graph_run_one_at_a_time() {
    let run = run("graph", &[]);
    assert!(run.status.success(), "{}", run.stderr);
    // The launch's number, the kernel's argument, and the last launch that wrote (0 for the host, -1 for none).
    let expected = "\
        1:10 after -1, 2:20 after 1, 3:30 after 0, host, 0\n\
        7 50529027\n\
        4:10 after 0, 5:21 after 4, 6:30 after 5, host, 0\n\
        7:11 after 0, 8:22 after 7, 9:30 after 8, host, 0\n\
        801\n";
    assert_eq!(run.stdout, expected, "{}", run.stderr);
    let faults = &run.summary().faults;
    assert!(
        matches!(&faults[..], [fault] if fault.contains("cudaGraphExecChildGraphNodeSetParams")),
        "{faults:?}"
    );
    let endings = run.endings();
    assert_eq!(endings.len(), 9);
    assert!(
        endings
            .iter()
            .all(|ending| ending.2 == 1 && ending.3.is_none())
    );
}

#[test]
fn an_unsupported_node_is_named() {
    let run = run("refused", &[]);
    assert_eq!(run.stdout, "801\n", "{}", run.stderr);
    let faults = &run.summary().faults;
    assert!(
        faults
            .iter()
            .any(|fault| fault.contains("cudaGraphNodeTypeMemAlloc")),
        "{faults:?}"
    );
}

#[test]
fn stores_to_another_devices_memory_make_loads_unknown() {
    // Without ordering, the slow fills would come too late.
    let environment = [("FAKE_MAX_BYTES", "16777216"), ("FAKE_SLOW_FILLS", "")];
    let run = run("devices", &environment);
    assert!(run.status.success(), "{}", run.stderr);
    // The copy on device 1 changes device 0's shadow. A kernel on device 1 that only stores to that device's memory has
    // no effect on it, but one that stores elsewhere invalidates it.
    let expected = "\
        1:0 after -1, 2:0 after 0, 3:0 after -1, 4:0 after 2, 5 has no shadow, 6 has no shadow, \
        7 has no shadow, ";
    assert_eq!(run.stdout, expected, "{}", run.stderr);
    let warnings = &run.summary().warnings;
    let matches = |warning: &&String| warning.contains("are not tracked in situ");
    assert_eq!(warnings.iter().filter(matches).count(), 1, "{warnings:?}");
    assert_eq!(run.summary().faults, <[String; 0]>::default());
}

#[test]
fn a_counting_run_has_no_shadow_memory() {
    let environment = [
        ("SUPERSTEP_PROTOCOL", "in-situ"),
        ("FAKE_MAX_BYTES", "33554432"),
        LIMITED,
    ];
    for (probe, expected) in [("trace", "2\n"), ("count", "0\n")] {
        let program = Program::build_with(probe, "in_situ.c", "in-situ");
        let run = program.run_with("room", &environment);
        assert_eq!(run.stdout, expected, "{probe}: {}", run.stderr);
    }
}

/// The tables take up most of these 130 MiB and shadow memory takes 8.25 or 16.5 MiB, which leaves less than 24 MiB.
const LIMITED: (&str, &str) = ("FAKE_ALL_BYTES", "136314880");

/// The APIs through which the program can allocate its memory.
const INTERFACES: [&[(&str, &str)]; 2] = [&[LIMITED], &[LIMITED, ("BY_DRIVER", "")]];

#[test]
fn shadow_of_freed_memory_makes_room() {
    for environment in INTERFACES {
        let run = run("idle", environment);
        assert!(run.status.success(), "{}", run.stderr);
        let starts_as_expected = run.stdout.starts_with("1:0 after -1, 0\n2:0 after -1, ");
        assert!(starts_as_expected, "{environment:?}: {}", run.stdout);
    }
}

#[test]
fn a_program_gets_the_memory_that_shadow_memory_took() {
    for environment in INTERFACES {
        let run = run("pressure", environment);
        assert!(run.status.success(), "{}", run.stderr);
        assert_eq!(
            run.stdout, "1:0 after -1, 0\n2 has no shadow, 3:0 after -1, 4:0 after ?, ",
            "{environment:?}"
        );
        // The first launch's write was forgotten along with the shadow memory, and the bounds must show that.
        let sums = run.capture.launches().filter_map(|launch| launch.sums);
        let unknown: Vec<_> = sums
            .map(|sums| (sums.loaded.unknown, sums.unshadowed_loaded_bytes))
            .collect();
        assert_eq!(unknown, [(0, 0), (0, 0), (0, 0), (4, 4)]);
        let warnings = &run.summary().warnings;
        assert!(
            (warnings.iter()).any(|warning| warning.contains("shadow memory were freed")),
            "{warnings:?}"
        );
    }
}

#[test]
fn shadow_memory_stays_within_its_limit() {
    let run = run("pressure", &[("SUPERSTEP_SHADOW_MEMORY", "4096")]);
    assert_eq!(
        run.stdout,
        "1 has no shadow, 0\n2 has no shadow, 3 has no shadow, 4 has no shadow, "
    );
    let warnings = &run.summary().warnings;
    assert!(
        (warnings.iter()).any(|warning| warning.contains("--shadow-memory")),
        "{warnings:?}"
    );
}

/// As in a trace, the selection of kernels in graphs does not depend on earlier launches.
#[test]
fn launches_of_a_graph_kernel_are_all_summed_or_all_skipped() {
    for (variable, value, expected) in [
        ("SUPERSTEP_LAUNCH_SKIP", "1000", Recorded::All),
        ("SUPERSTEP_SAMPLE_LAUNCHES", "0.000001", Recorded::All),
        ("SUPERSTEP_KERNEL", "other", Recorded::OutOfScope),
    ] {
        let run = run("graph", &[(variable, value)]);
        let recorded: Vec<_> = run.capture.launches().map(|it| it.recorded).collect();
        assert_eq!(recorded, [expected; 9], "{variable}");
        let skipped = run.stdout.matches("skipped").count();
        let accesses: u64 = run.endings().iter().map(|ending| ending.2).sum();
        let expected = if expected == Recorded::All {
            (0, 9)
        } else {
            (9, 0)
        };
        assert_eq!((skipped, accesses), expected, "{variable}: {}", run.stdout);
    }
}
