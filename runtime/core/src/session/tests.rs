//! Tests of a session's numbering, capture and summary.

use super::*;
use crate::RuntimeError;
use crate::in_situ::Accumulator;
use superstep_trace::{
    AccessGroup, AllocationKey, AllocationKind, Block, Capture, CopyDirection, Gap, HostEvent,
    KernelTotals, KnownCall, LaunchCounts, LaunchId, ModuleTable, Op, OpaqueGeometry, OpaqueLaunch,
    Outcome, Probe, Protocol, Summary, Transport,
};

fn table(module: u32, probe: Probe) -> ModuleTable {
    ModuleTable {
        opaque_assembly: 0,
        grid_barriers: false,
        launches: false,
        defined: None,
        schema_version: superstep_trace::TABLE_SCHEMA_VERSION,
        module,
        name: format!("{module}.cu"),
        backend: Backend::Cpu,
        probe,
        sites: Vec::new(),
        kernels: Vec::new(),
    }
}

fn session(folder: &std::path::Path) -> Session {
    let capture = Some(folder.join("capture"));
    let summary = Some(folder.join("summary.json"));
    let registry = Box::leak(Box::new(Registry::default()));
    Session::new(
        Config {
            capture,
            summary,
            ..Config::default()
        },
        Backend::Cpu,
        registry,
    )
}

fn begin(session: &Session, stream: u32, kernel: &str) -> ActiveLaunch {
    let geometry = Geometry {
        grid: [2, 1, 1],
        block: [32, 1, 1],
        dynamic_shared_bytes: 0,
        static_shared_bytes: 0,
        device: 0,
    };
    session.launch_begin(StreamId(stream), kernel, geometry, None)
}

fn summary(folder: &std::path::Path) -> Summary {
    Summary::read(&folder.join("summary.json")).unwrap()
}

/// Returns the sequence numbers of the host's calls, in replay order.
fn sequence_numbers(capture: &Capture) -> Vec<u64> {
    (capture.replay())
        .filter_map(|timed| match timed.event {
            HostEvent::Launch(record) => Some(record.launch.sequence),
            HostEvent::Allocate(allocation) => Some(allocation.sequence),
            HostEvent::Free(allocation) => allocation.freed,
            HostEvent::Copy(copy) => Some(copy.sequence),
            HostEvent::Memset(memset) => Some(memset.sequence),
            HostEvent::OpaqueLaunch(launch) => Some(launch.sequence),
            _ => None,
        })
        .collect()
}

#[test]
fn a_run_leaves_a_capture_and_a_summary() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    session.registry().register(table(0, Probe::Trace)).unwrap();
    let device = DeviceInfo {
        name: "test".into(),
        compute_capability: [9, 0],
        driver: None,
    };
    session.set_device(device.clone());
    assert_eq!(
        session.allocate(AllocatedBy::Module, 0, 4096, 64, AllocationKind::Device),
        AllocationId(0)
    );
    session.copy(CopyDirection::HostToDevice, 4096, 1, 64, StreamId(0));
    for (number, stream) in [(0, 0), (1, 0), (0, 1)] {
        let launch = begin(&session, stream, "_Zk");
        assert_eq!(launch.launch.launch, LaunchId(number));
        let mut chunk = ChunkBuilder::new(launch.launch.launch);
        chunk.push(&AccessGroup {
            mask: 7,
            width_bytes: 4,
            addresses: [4096; 32],
            ..AccessGroup::EMPTY
        });
        session.write_chunk(&launch, &mut chunk);
        assert!(chunk.is_empty());
        session.launch_end(&launch, 3, 10, LaunchOutcome::Completed);
    }
    session.registry().register(table(1, Probe::Trace)).unwrap();
    session.memset(4096, 8, 0xff, StreamId(0));
    assert_eq!(session.free(4096), Some(AllocationId(0)));
    assert_eq!(session.free(4096), None);
    assert_eq!(
        session.allocate(AllocatedBy::Module, 0, 4096, 8, AllocationKind::Pinned),
        AllocationId(1)
    );
    session.gap(Gap::ArrayCopy);
    let geometry = OpaqueGeometry {
        grid: [2, 1, 1],
        block: [32, 1, 1],
    };
    let opaque = [Some("_Zother"), Some("_Zother"), None]
        .map(|kernel| session.opaque_launch(StreamId(0), kernel, Some(geometry), None));
    session.opaque_end(opaque[1], Some("_Zother"), 40);
    session.transport(Transport {
        bytes: 7,
        ..Transport::default()
    });
    session.finish_at_exit();

    let capture = Capture::open(folder.path().join("capture")).unwrap();
    assert!(capture.complete, "{:?}", capture.problems);
    assert_eq!(capture.outcome, Some(Outcome::Finished));
    assert_eq!(
        (&capture.header.device, capture.modules.len()),
        (&device, 2)
    );
    assert_eq!(sequence_numbers(&capture), (0..11).collect::<Vec<_>>());
    let steps: Vec<_> = capture.replay().map(|timed| timed.event).collect();
    let transport = Transport {
        bytes: 7,
        ..Transport::default()
    };
    let expected = [
        HostEvent::Gap(&Gap::ArrayCopy),
        HostEvent::Transport(&transport),
    ];
    let is_gap = |step: &HostEvent| matches!(step, HostEvent::Gap(_) | HostEvent::Transport(_));
    let found: Vec<_> = steps.iter().filter(|step| is_gap(step)).cloned().collect();
    assert_eq!(found, expected);
    let ended = steps.iter().find_map(|step| match step {
        HostEvent::OpaqueEnd { launch, end } => {
            Some((launch.name(), launch.sequence, end.elapsed_ns))
        }
        _ => None,
    });
    assert_eq!(ended, Some(("_Zother", opaque[1], 40)));
    let record = (capture.launches())
        .find(|record| record.launch.launch == LaunchId(1))
        .unwrap();
    let allocation = record.allocations.find(4100).unwrap();
    assert_eq!(
        (&allocation.key, 4100 - allocation.address),
        (&AllocationKey::Heap(0), 4)
    );

    let summary = summary(folder.path());
    let kernels = vec![KernelTotals {
        resources: None,
        name: "_Zk".into(),
        launches: 3,
        ns: 30,
    }];
    let opaque = |name: &str, launches, ns| KernelTotals {
        name: name.into(),
        launches,
        ns,
        resources: None,
    };
    let opaque_kernels = [
        opaque("_Zother", 2, 40),
        opaque(OpaqueLaunch::UNNAMED, 1, 0),
    ];
    assert_eq!(summary.opaque, opaque_kernels);
    let [warning] = &summary.warnings[..] else {
        panic!("{:?}", summary.warnings);
    };
    assert!(warning.contains("first: _Zother"), "{warning}");
    assert_eq!(
        (summary.launches, summary.kernel_ns, summary.kernels),
        (3, 30, kernels)
    );
    assert_eq!(summary.device.compute_capability, [9, 0]);
    assert_eq!(
        (summary.counts, summary.faults.len(), summary.records_lost),
        (None, 0, 0)
    );
}

/// Destructors and `atexit` handlers can run after Superstep's.
#[test]
fn events_after_the_end_are_in_the_capture_and_the_summary() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    session.finish_at_exit();
    let read = || Capture::open(folder.path().join("capture")).unwrap();
    assert!(read().complete);
    for number in 1..3 {
        session
            .registry()
            .register(table(number, Probe::Trace))
            .unwrap();
        let launch = begin(&session, 0, "_Zk");
        session.records_lost(1);
        session.launch_end(&launch, 0, 10, LaunchOutcome::Completed);
        let (capture, summary) = (read(), summary(folder.path()));
        assert!(capture.complete, "{:?}", capture.problems);
        assert_eq!(capture.modules.len(), number as usize);
        assert_eq!(capture.launches().count(), number as usize);
        assert_eq!(
            (summary.launches, summary.records_lost),
            (number.into(), number.into())
        );
    }
    session.gap(Gap::GraphMemoryNode);
    let capture = read();
    assert!(capture.complete, "{:?}", capture.problems);
    assert!((capture.replay()).any(|timed| timed.event == HostEvent::Gap(&Gap::GraphMemoryNode)));
    session.fault("late");
    assert_eq!(summary(folder.path()).faults, ["late"]);
    assert_eq!(read().outcome, Some(Outcome::Failed("late".into())));
}

#[test]
fn counts_are_kept_by_launch() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    session.registry().register(table(0, Probe::Count)).unwrap();
    let launch = begin(&session, 2, "_Zk");
    session.site_counts(&launch, [(SiteId(0), 0), (SiteId(1), 7)]);
    let counts = LaunchCounts {
        stream: 2,
        launch: 0,
        kernel: "_Zk".into(),
        sites: vec![(1, 7)],
    };
    assert_eq!(summary(folder.path()).counts, Some(vec![counts]));
}

#[test]
fn counts_of_a_program_without_launches_are_empty() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    session.registry().register(table(0, Probe::Count)).unwrap();
    session.finish_at_exit();
    assert_eq!(summary(folder.path()).counts, Some(Vec::new()));
}

#[test]
fn a_fault_fails_the_run_but_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    session.warning("odd");
    session.warning("odd");
    assert!(!session.has_faults());
    session.fault("kernel _Zk wrote outside any allocation");
    session.bad_addresses(2);
    assert!(session.has_faults());
    let written = summary(folder.path());
    assert_eq!(
        (
            written.warnings.len(),
            written.faults.len(),
            written.bad_addresses
        ),
        (1, 1, 2)
    );
    session.finish_at_exit();
    let capture = Capture::open(folder.path().join("capture")).unwrap();
    assert!(
        matches!(capture.outcome, Some(Outcome::Failed(text)) if text.starts_with("kernel _Zk wrote"))
    );
}

#[test]
fn the_summary_says_whether_the_exit_handlers_ran() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    session.set_device(DeviceInfo {
        name: "x".into(),
        ..DeviceInfo::default()
    });
    let launch = begin(&session, 0, "_Zk");
    session.launch_end(&launch, 0, 5, LaunchOutcome::Completed);
    session.opaque_launch(StreamId(0), Some("_Zo"), None, None);
    let before = summary(folder.path());
    assert!(!before.ended && before.launches == 1 && before.device.name == "x");
    session.finish_at_exit();
    let ended = true;
    assert_eq!(summary(folder.path()), Summary { ended, ..before });
}

#[test]
fn a_capture_that_cannot_be_written_is_a_fault_and_the_program_continues() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("capture"), "a file is in the way").unwrap();
    let session = session(folder.path());
    let launch = begin(&session, 0, "_Zk");
    assert!(launch.writer.is_none());
    session.write_chunk(&launch, &mut ChunkBuilder::new(LaunchId(0)));
    session.launch_end(&launch, 0, 1, LaunchOutcome::Completed);
    session.finish_at_exit();
    let summary = summary(folder.path());
    assert_eq!((summary.launches, summary.faults.len()), (1, 1));
    assert!(
        summary.faults[0].starts_with("failed to create "),
        "{:?}",
        summary.faults
    );
}

#[test]
fn accesses_that_cannot_be_written_are_counted_as_lost() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    session.gap(Gap::ArrayCopy);
    std::os::unix::fs::symlink("/dev/full", folder.path().join("capture/stream-0.part")).unwrap();
    let launch = begin(&session, 0, "_Zk");
    assert!(launch.writer.is_none() && session.has_faults());
    let mut chunk = ChunkBuilder::new(LaunchId(0));
    chunk.push(&AccessGroup {
        mask: 7,
        ..AccessGroup::EMPTY
    });
    session.write_chunk(&launch, &mut chunk);
    assert_eq!(summary(folder.path()).records_lost, 3);
}

#[test]
fn a_fault_handler_does_not_wait_forever() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let state = session.state.lock();
    session.fault("stopped while an event was being written");
    let ended = session.finish(&Outcome::Finished);
    assert!(matches!(ended, Err(RuntimeError::Busy { .. })));
    drop(state);
    session.finish(&Outcome::Finished).unwrap();
}

#[test]
fn streams_are_numbered_as_they_appear() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let numbers = [900, 800, 900].map(|handle| session.stream_id(handle).0);
    assert_eq!(numbers, [1, 2, 1]);
    session.stream_destroyed(900);
    assert_eq!(session.stream_id(900), StreamId(3));
}

#[test]
fn default_streams_have_separate_numbers_on_each_device_and_host_thread() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    let id = |device, per_thread| session.default_stream(device, per_thread).0;
    let numbers = || [id(None, false), id(None, true), id(Some(1), false)];
    assert_eq!(
        numbers(),
        [0, 0, 1],
        "the first thread's default streams share number 0"
    );
    let second = std::thread::scope(|scope| scope.spawn(numbers).join().unwrap());
    assert_eq!(second, [0, 2, 1]);
    let third = std::thread::scope(|scope| {
        let thread = scope.spawn(|| [id(Some(1), true), id(None, true), id(Some(1), true)]);
        thread.join().unwrap()
    });
    assert_eq!(third, [3, 4, 3]);
    assert_eq!(numbers(), [0, 0, 1]);
}

#[test]
fn threads_share_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let session = session(folder.path());
    std::thread::scope(|scope| {
        for stream in 0..4u32 {
            let session = &session;
            scope.spawn(move || {
                for _ in 0..50 {
                    let id = session.allocate(
                        AllocatedBy::Module,
                        0,
                        u64::from(stream) << 20,
                        16,
                        AllocationKind::Device,
                    );
                    let launch = begin(session, stream, "_Zk");
                    session.launch_end(&launch, 0, 1, LaunchOutcome::Completed);
                    assert_eq!(session.free(u64::from(stream) << 20), Some(id));
                }
            });
        }
    });
    session.finish_at_exit();
    let capture = Capture::open(folder.path().join("capture")).unwrap();
    assert!(capture.complete, "{:?}", capture.problems);
    assert_eq!(sequence_numbers(&capture), (0..600).collect::<Vec<_>>());
    assert!(
        capture.replay().is_sorted_by_key(|timed| timed.at_ns),
        "file order is sequence order"
    );
    let mut launches = capture.launches().map(|record| record.launch);
    let launch = launches.find(|it| (it.stream, it.launch) == (StreamId(3), LaunchId(49)));
    assert_eq!(launch.unwrap().kernel, "_Zk");
}

/// Loads eight words in a launch; returns the byte counts by origin: host, uninitialised memory, and unknown writers.
fn read(session: &Session, address: u64) -> [u64; 3] {
    let launch = begin(session, 0, "_Zread");
    let running = session.add_up(&launch).unwrap();
    let mut group = AccessGroup {
        mask: 1,
        width_bytes: 32,
        ..AccessGroup::EMPTY
    };
    group.addresses[0] = address;
    let mut accumulator = Accumulator::default();
    accumulator.group(session.shadow().unwrap(), &running, Op::Load, &group);
    accumulator.finish(&running);
    let loaded = running.found().0.loaded;
    session.launch_aggregated(&running);
    session.launch_end(&launch, 1, 5, LaunchOutcome::Completed);
    [loaded.input, loaded.uninitialised, loaded.unknown]
}

#[test]
fn host_actions_change_shadow_memory() {
    let folder = tempfile::tempdir().unwrap();
    let in_situ = |backend, capture: bool| {
        let config = Config {
            capture: capture.then(|| folder.path().join("capture")),
            protocol: Some(Protocol::InSitu),
            ..Config::default()
        };
        Session::new(config, backend, Box::leak(Box::new(Registry::default())))
    };
    assert!(in_situ(Backend::Cuda, true).shadow().is_none());
    assert!(in_situ(Backend::Cpu, false).shadow().is_none());
    let session = in_situ(Backend::Cpu, true);
    let allocate = |address, kind| session.allocate(AllocatedBy::Caller, 0, address, 32, kind);
    allocate(4096, AllocationKind::Device);
    allocate(8192, AllocationKind::Pinned);
    let name = "table".to_owned();
    allocate(12288, AllocationKind::Symbol { name });
    assert_eq!(read(&session, 4096), [0, 32, 0]);
    assert_eq!(read(&session, 8192), [32, 0, 0]);
    assert_eq!(read(&session, 12288), [32, 0, 0]);
    session.copy(CopyDirection::DeviceToDevice, 4097, 1, 3, StreamId(0));
    session.memset(4110, 10, 0, StreamId(0));
    assert_eq!(read(&session, 4096), [13, 19, 0]);
    let block = Block {
        address: 4096,
        bytes: 4,
        rows: 2,
        row_pitch: 8,
        planes: 1,
        plane_pitch: 0,
    };
    let call = KnownCall {
        writes: vec![block],
        ..KnownCall::default()
    };
    session.opaque_launch(StreamId(0), None, None, Some(call));
    assert_eq!(read(&session, 4096), [10, 14, 8]);
    session.opaque_launch(StreamId(0), None, None, None);
    assert_eq!(read(&session, 4096), [0, 0, 32]);
    assert_eq!(read(&session, 8192), [0, 0, 32]);
    session.free(4096);
    assert_eq!(read(&session, 4096), [0, 32, 0]);
    session.finish(&Outcome::Finished).unwrap();
    let capture = Capture::open(folder.path().join("capture")).unwrap();
    assert!(
        capture.complete && capture.problems.is_empty(),
        "{:?}",
        capture.problems
    );
    assert!(capture.launches().all(|launch| launch.sums.is_some()));

    let mut large = begin(&session, 0, "_Zlarge");
    large.launch.grid = [1 << 27, 2, 1];
    assert!(session.add_up(&large).is_none());
    let faults = &session.messages.lock().faults;
    assert!(faults[0].contains("268435456 CTAs"), "{faults:?}");
}
