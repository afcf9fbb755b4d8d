//! Tests of a replay's order, dangling events, and the captures in the repository.

use std::path::Path;
use superstep_testing::{self as testing, CaptureBuilder};
use superstep_trace::*;

const ARRAY: u64 = 0x10_0000;

fn header() -> Header {
    Header {
        tool_version: "0.1.0".into(),
        program: "step".into(),
        arguments: vec!["--small".into()],
        device: DeviceInfo {
            name: "a device".into(),
            compute_capability: [9, 0],
            driver: None,
        },
        start_unix_ns: 1_700_000_000_000_000_000,
        ..Header::new(Backend::Cpu)
    }
}

fn begin(folder: &Path, header: &Header) -> CaptureBuilder {
    let site = |local, op| Site {
        function: "_Z4stepPf".into(),
        file: "step.cu".into(),
        line: 7 + u32::from(local),
        column: 3,
        ..testing::site(local, op)
    };
    let sites = vec![site(0, Op::Load), site(1, Op::Store)];
    let module = testing::module("step.cu", sites, &[("_Z4stepPf", "step")]);
    CaptureBuilder::with_header(folder, header, &module)
}

fn launch(stream: u32) -> Launch {
    Launch {
        stream: StreamId(stream),
        static_shared_bytes: 64,
        ..testing::launch("_Z4stepPf", 2, 32)
    }
}

/// Writes a chunk with a word for each lane of two CTAs.
fn chunk(capture: &mut CaptureBuilder, launch: &Launch, site: u16, address: u64) {
    let group = |cta| testing::group(site, cta, testing::words(address + 128 * u64::from(cta)));
    capture.chunk(launch, &[group(0), group(1)]);
}

fn symbol(name: &str) -> AllocationKind {
    AllocationKind::Symbol { name: name.into() }
}

/// Writes two streams, sequence numbers that are not in file order, and almost every kind of event.
fn whole(folder: &Path) -> Capture {
    let mut capture = begin(folder, &header());
    capture.allocate(0x20_0000, 128, symbol("table"));
    let place = SourcePlace {
        file: "src/step.cu".into(),
        line: 30,
        column: 5,
    };
    let array = capture.allocate_from(Some(place), ARRAY, 4096, AllocationKind::Device);
    capture.copy(CopyDirection::HostToDevice, ARRAY, 64, 256);
    let first = capture.begin(launch(0));
    let other = capture.at(5).begin(launch(1));
    let second = capture.at(4).begin(launch(0));
    capture.at(4).allocate(0x30_0000, 8192, symbol(DEVICE_HEAP));
    let completed = LaunchOutcome::Completed;
    capture.end_with(&first, 128, completed.clone());
    capture.end_with(&second, 64, completed.clone());
    capture.event(&Event::Memset(HostMemset {
        sequence: 6,
        address: ARRAY,
        bytes: 512,
        value: 255,
        stream: StreamId(1),
    }));
    capture.end_with(
        &other,
        64,
        LaunchOutcome::Failed("an illegal address".into()),
    );
    capture.at(7).free(array);
    capture.allocate(ARRAY, 64, AllocationKind::Managed);
    capture.event(&Event::Note("a note".into()));
    let third = capture.begin(launch(0));
    capture.end_with(&third, 64, completed);
    chunk(&mut capture, &first, 0, ARRAY);
    chunk(&mut capture, &second, 0, ARRAY + 256);
    chunk(&mut capture, &other, 1, 0x30_0000);
    chunk(&mut capture, &first, 1, ARRAY + 256);
    chunk(&mut capture, &third, 0, 0x20_0000);
    capture.finish()
}

/// Writes transport events and gaps.
fn notes(folder: &Path) -> Capture {
    let on_gpu = Header {
        backend: Backend::Cuda,
        ..header()
    };
    let mut capture = begin(folder, &on_gpu);
    capture.event(&Event::Gap(Gap::ArrayCopy));
    capture.launch(launch(0), &[[]; 0]);
    capture.event(&Event::Gap(Gap::GraphMemoryNode));
    capture.event(&Event::Transport(Transport {
        bytes: 1_048_576,
        pieces: 16,
        groups: 3,
        accesses: 96,
    }));
    capture.event(&Event::Note("a note".into()));
    capture.finish_with(&Outcome::Failed("it was stopped".into()))
}

/// Writes the capture of a program that was killed in its second launch.
fn killed(folder: &Path) -> Capture {
    let mut capture = begin(folder, &header());
    capture.allocate(ARRAY, 4096, AllocationKind::Pinned);
    let first = capture.begin(launch(0));
    chunk(&mut capture, &first, 0, ARRAY);
    capture.end(&first);
    let second = capture.begin(launch(0));
    chunk(&mut capture, &second, 1, ARRAY);
    capture.kill()
}

/// Writes two launches: each CTA of the second loads the words that the other CTA stored in the first.
fn exchange(folder: &Path) -> Capture {
    let mut capture = begin(folder, &header());
    capture.allocate(ARRAY, 256, AllocationKind::Device);
    let store = capture.begin(launch(0));
    chunk(&mut capture, &store, 1, ARRAY);
    capture.end(&store);
    let load = capture.begin(launch(0));
    let group = |cta| testing::group(0, cta, testing::words(ARRAY + 128 * u64::from(1 - cta)));
    capture.chunk(&load, &[group(0), group(1)]);
    capture.end(&load);
    capture.finish()
}

/// Checks the captures in `tests/captures`, which Python tests also read. `SUPERSTEP_BLESS=1` rewrites them.
#[test]
fn stored_captures_are_read_like_new_ones() {
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    type Content = fn(&Path) -> Capture;
    for (name, write) in [
        ("whole", whole as Content),
        ("notes", notes),
        ("killed", killed),
        ("exchange", exchange),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let new = write(folder.path());
        let stored = stored.join(name);
        if std::env::var_os("SUPERSTEP_BLESS").is_some() {
            write(&stored);
        }
        let stored = Capture::open(stored).unwrap();
        let facts = |capture: &Capture| {
            let Capture {
                header,
                modules,
                outcome,
                complete,
                damaged,
                ..
            } = capture;
            let problems = capture.verify().unwrap().len();
            let files = (header.clone(), modules.clone(), outcome.clone());
            (files, *complete, *damaged, problems)
        };
        assert_eq!(facts(&stored), facts(&new), "{name}");
        assert!(stored.replay().eq(new.replay()), "{name}");
        let groups = |capture: &Capture| {
            let mut all = Vec::new();
            let mut add =
                |record: &LaunchRecord<'_>, group: &AccessGroup| all.push((record.number, *group));
            capture.groups(&mut add).unwrap();
            all
        };
        assert_eq!(groups(&stored), groups(&new), "{name}");
    }
}

#[test]
fn replay_is_in_host_order() {
    let folder = tempfile::tempdir().unwrap();
    let capture = whole(folder.path());
    assert!(capture.complete, "{:?}", capture.problems);
    let describe = |event: HostEvent| match event {
        HostEvent::Launch(record) => {
            let alive: Vec<_> = record.allocations.iter().map(|a| a.id.0).collect();
            format!(
                "launch {}: {} of stream {}, {} accesses, alive {alive:?}",
                record.number,
                record.launch.launch,
                record.launch.stream,
                record.thread_accesses(),
            )
        }
        HostEvent::LaunchEnd { launch, end } => {
            format!(
                "end of {} of stream {}: {:?}",
                launch.launch, launch.stream, end.outcome
            )
        }
        HostEvent::Allocate(allocation) => format!("allocate {}", allocation.key),
        HostEvent::Free(allocation) => format!("free {}", allocation.key),
        HostEvent::Copy(copy) => format!("copy {}", copy.bytes),
        HostEvent::Memset(memset) => format!("memset {}", memset.bytes),
        HostEvent::Note(text) => text.to_owned(),
        HostEvent::OpaqueLaunch(_)
        | HostEvent::OpaqueEnd { .. }
        | HostEvent::Gap(_)
        | HostEvent::Transport(_) => {
            unreachable!("there are none")
        }
    };
    let replay = capture.replay();
    let lines: Vec<_> = replay.map(|timed| describe(timed.event)).collect();
    let expected = [
        "allocate table",
        "allocate #0",
        "copy 256",
        "launch 0: 0 of stream 0, 128 accesses, alive [1, 0]",
        "launch 1: 1 of stream 0, 64 accesses, alive [1, 0]",
        "allocate device malloc heap",
        "launch 2: 0 of stream 1, 64 accesses, alive [1, 0, 2]",
        "end of 0 of stream 0: Completed",
        "end of 1 of stream 0: Completed",
        "memset 512",
        "end of 0 of stream 1: Failed(\"an illegal address\")",
        "free #0",
        "allocate #1",
        "a note",
        "launch 3: 2 of stream 0, 64 accesses, alive [3, 0, 2]",
        "end of 2 of stream 0: Completed",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn dangling_events_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = begin(folder.path(), &header());
    let launch = capture.launch(launch(0), &[[]; 0]);
    capture.event(&Event::Launch(launch.clone()));
    capture.end(&launch);
    capture.end(&Launch {
        launch: LaunchId(9),
        ..launch
    });
    capture.free(AllocationId(7));
    let opaque = OpaqueLaunch {
        sequence: 1000,
        stream: StreamId(0),
        kernel: None,
        geometry: None,
        call: None,
    };
    // The second one must not replace the first.
    for _ in 0..2 {
        capture.event(&Event::OpaqueLaunch(opaque.clone()));
    }
    let end = OpaqueEnd {
        launch: 1000,
        elapsed_ns: 1,
    };
    capture.event(&Event::OpaqueEnd(end));
    let capture = capture.finish();
    assert!(!capture.complete && !capture.damaged);
    assert_eq!(
        capture.problems,
        [
            "launch 0 of stream 0 is announced twice",
            "launch 0 of stream 0 ends twice",
            "an event refers to launch 9 of stream 0, which no event announces",
            "allocation 7 is freed, but no event announces it",
            "opaque launch 1000 is announced twice",
        ]
    );
    assert_eq!(capture.replay().count(), 4);
}
