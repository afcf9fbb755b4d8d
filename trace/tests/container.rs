//! Tests of captures that are written, read back, cut off, damaged, or written to a full disk.

mod common;

use common::{any_group, groups, launch, module, write};
use proptest::prelude::*;
use superstep_testing as testing;
use superstep_trace::*;

const BASE: u64 = 0x7f00_0000_0000;

fn group(cta: u32, address: u64) -> AccessGroup {
    AccessGroup {
        site: SiteId::new(1, 0),
        ..testing::group(0, cta, testing::words(address))
    }
}

/// Returns three launches with 2, 1 and 2 chunks.
fn small() -> Vec<Vec<Vec<AccessGroup>>> {
    let chunk = |number: u32| {
        (0..5)
            .map(|i| group(i, BASE + u64::from(number * 640 + i * 128)))
            .collect::<Vec<_>>()
    };
    vec![
        vec![chunk(0), chunk(1)],
        vec![chunk(2)],
        vec![chunk(3), chunk(4)],
    ]
}

fn flat(launches: &[Vec<Vec<AccessGroup>>]) -> Vec<(u32, AccessGroup)> {
    let launches = launches.iter().enumerate();
    launches
        .flat_map(|(number, chunks)| {
            chunks
                .iter()
                .flatten()
                .map(move |group| (number as u32, *group))
        })
        .collect()
}

#[test]
fn capture_round_trips() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/capture");
    write(&path, BASE, &small());
    for path in [
        path.clone(),
        path.join("events.sst"),
        path.join("stream-0.sst"),
    ] {
        let capture = Capture::open(&path).unwrap();
        assert!(
            capture.complete && !capture.damaged,
            "{:?}",
            capture.problems
        );
        assert_eq!(capture.outcome, Some(Outcome::Finished));
        assert_eq!(capture.header, Header::new(Backend::Cpu));
        assert_eq!(capture.modules, [module()]);
        assert_eq!(
            capture.sites().get(SiteId::new(1, 1)).unwrap().op,
            Op::Store
        );
        assert_eq!(capture.sites().display_name("_Z6kernelPf"), "kernel");
        let numbers = capture.launches().map(|record| record.launch.launch.0);
        assert_eq!(numbers.collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(capture.replay().count(), 3 + 6);
        assert_eq!(groups(&capture).0, flat(&small()));
        assert!(groups(&capture).1.is_none() && capture.verify().unwrap().is_empty());
        let sum = capture.par_fold(|| 0, |sum, _, group| *sum += group.lanes(), |a, b| a + b);
        assert_eq!(sum.unwrap(), 5 * 5 * 32);
    }
}

#[test]
fn a_new_capture_replaces_an_old_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), BASE, &small());
    let capture = CaptureWriter::create(folder.path(), &Header::new(Backend::Cuda)).unwrap();
    capture
        .finish(&Outcome::Failed("no kernel".into()))
        .unwrap();
    let capture = Capture::open(folder.path()).unwrap();
    assert!(capture.complete && capture.streams().next().is_none());
    assert_eq!(capture.outcome, Some(Outcome::Failed("no kernel".into())));
}

#[test]
fn threads_write_concurrently() {
    let folder = tempfile::tempdir().unwrap();
    let capture = CaptureWriter::create(folder.path(), &Header::new(Backend::Cpu)).unwrap();
    let announced = Launch {
        stream: StreamId(3),
        ..launch()
    };
    capture.event(&Event::Launch(announced)).unwrap();
    std::thread::scope(|scope| {
        for cta in 0..4 {
            let stream = capture.stream(StreamId(3)).unwrap();
            scope.spawn(move || {
                let mut builder = ChunkBuilder::new(LaunchId(0));
                for step in 0..1000 {
                    builder.push(&group(cta, BASE + step * 128));
                    if step % 10 == 9 {
                        stream.flush(&mut builder).unwrap();
                    }
                }
            });
        }
    });
    capture.finish(&Outcome::Finished).unwrap();
    let capture = Capture::open(folder.path()).unwrap();
    let (all, error) = groups(&capture);
    assert!(error.is_none() && capture.complete);
    for cta in 0..4 {
        let addresses: Vec<_> = all
            .iter()
            .filter(|(_, group)| group.cta == cta)
            .map(|(_, group)| group.addresses[0])
            .collect();
        assert_eq!(
            addresses,
            (0..1000).map(|step| BASE + step * 128).collect::<Vec<_>>(),
            "program order of CTA {cta}"
        );
    }
}

#[test]
fn a_stream_file_cut_off_anywhere_keeps_its_whole_chunks() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), BASE, &small());
    let path = folder.path().join("stream-0.sst");
    let bytes = std::fs::read(&path).unwrap();
    let all = flat(&small());
    let mut previous = 0;
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let capture = Capture::open(folder.path()).unwrap();
        let (found, error) = groups(&capture);
        assert!(
            !capture.complete && error.is_none() && !capture.problems.is_empty(),
            "at {length}"
        );
        assert_eq!(found.len() % 5, 0, "whole chunks, at {length}");
        assert_eq!(found, all[..found.len()], "at {length}");
        assert!(found.len() >= previous, "at {length}");
        previous = found.len();
    }
    assert_eq!(previous, all.len(), "only the end chunk is missing");
}

/// Returns an event without the parts that depend on later events or the stream's file.
fn stripped(timed: TimedEvent<HostEvent<'_>>) -> TimedEvent<HostEvent<'_>> {
    let event = match timed.event {
        HostEvent::Launch(record) => HostEvent::Launch(LaunchRecord {
            end: None,
            chunks: &[],
            ..record
        }),
        other => other,
    };
    TimedEvent { event, ..timed }
}

#[test]
fn an_events_file_cut_off_anywhere_keeps_its_whole_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let whole = write(folder.path(), BASE, &small());
    let path = folder.path().join("events.sst");
    let bytes = std::fs::read(&path).unwrap();
    let mut opened = 0;
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        match Capture::open(folder.path()) {
            Ok(capture) => {
                opened += 1;
                assert!(
                    !capture.complete && capture.outcome.is_none() && !capture.problems.is_empty(),
                    "at {length}"
                );
                let (steps, all) = (capture.replay(), whole.replay());
                let all = all.take(capture.replay().count()).map(stripped);
                assert!(steps.map(stripped).eq(all), "at {length}");
                let (found, error) = groups(&capture);
                assert!(error.is_none(), "at {length}");
                assert_eq!(found, flat(&small())[..found.len()], "at {length}");
            }
            Err(error) => {
                assert!(
                    opened == 0,
                    "once the header is readable, the capture opens; at {length}"
                );
                assert!(error.to_string().contains("events.sst at byte "), "{error}");
            }
        }
    }
    assert!(opened > bytes.len() / 2);
}

#[test]
fn every_changed_byte_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), BASE, &small());
    for file in ["stream-0.sst", "events.sst"] {
        let path = folder.path().join(file);
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            std::fs::write(&path, &changed).unwrap();
            let problems = match Capture::open(folder.path()) {
                Ok(capture) => {
                    let (found, _) = groups(&capture);
                    assert_eq!(found, flat(&small())[..found.len()], "{file} at {at}");
                    capture.verify().unwrap()
                }
                Err(error) => vec![error.to_string()],
            };
            let is_reported = problems
                .iter()
                .any(|problem| problem.contains(file) && problem.contains(" at byte "));
            assert!(is_reported, "{file} at {at}: {problems:?}");
        }
        std::fs::write(&path, &bytes).unwrap();
    }
}

#[test]
fn damage_in_the_middle_keeps_everything_before_it() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), BASE, &small());
    let path = folder.path().join("stream-0.sst");
    let mut bytes = std::fs::read(&path).unwrap();
    let second = bytes
        .windows(4)
        .enumerate()
        .filter(|(_, window)| window == b"CHNK")
        .nth(1)
        .unwrap()
        .0;
    bytes[second + 60] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();
    let capture = Capture::open(folder.path()).unwrap();
    let (found, error) = groups(&capture);
    assert_eq!(found, flat(&small())[..5]);
    let error = error.unwrap().to_string();
    assert!(
        error.contains(&format!(
            "stream-0.sst at byte {second}: the chunk's checksum does not match"
        )),
        "{error}"
    );
    assert_eq!(capture.verify().unwrap(), [error]);
}

#[test]
fn a_missing_stream_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), BASE, &small());
    std::fs::remove_file(folder.path().join("stream-0.sst")).unwrap();
    let capture = Capture::open(folder.path()).unwrap();
    assert!(!capture.complete);
    assert!(
        capture.problems[0].contains("launch 0 performed 320 thread accesses, but the file has 0"),
        "{:?}",
        capture.problems
    );
}

#[test]
fn other_files_are_reported_as_not_a_capture() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Capture::open(folder.path().join("nothing")).unwrap_err();
    assert!(
        missing
            .to_string()
            .ends_with("nothing: there is no such file or folder"),
        "{missing}"
    );
    let empty = Capture::open(folder.path()).unwrap_err();
    assert!(
        empty.to_string().contains("there is no events.sst"),
        "{empty}"
    );
    std::fs::write(
        folder.path().join("events.sst"),
        "some text that is not a capture, but long enough",
    )
    .unwrap();
    let text = Capture::open(folder.path()).unwrap_err();
    assert!(
        text.to_string().contains("not a Superstep capture file"),
        "{text}"
    );
}

#[test]
fn other_versions_are_refused() {
    for other in [0, FORMAT_VERSION + 1, u32::MAX] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), BASE, &small());
        let change = |file| {
            let path = folder.path().join(file);
            let mut bytes = std::fs::read(&path).unwrap();
            assert_eq!(bytes[8..12], FORMAT_VERSION.to_le_bytes());
            bytes[8..12].copy_from_slice(&other.to_le_bytes());
            let checksum = xxhash_rust::xxh3::xxh3_64(&bytes[..24]);
            bytes[24..32].copy_from_slice(&checksum.to_le_bytes());
            std::fs::write(path, bytes).unwrap();
        };
        change("stream-0.sst");
        let capture = Capture::open(folder.path()).unwrap();
        assert!(capture.damaged && !capture.complete);
        change("events.sst");
        let error = Capture::open(folder.path()).unwrap_err();
        assert!(
            matches!(error, TraceError::FormatVersion { version, .. } if version == other),
            "{error}"
        );
        for part in [
            &*format!("is {other}"),
            "reads only 1;",
            "trace the program again",
        ] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        assert!(
            capture.problems[0].contains(&format!("stream-0.sst: its format version is {other}"))
        );
    }
}

/// Simulates a full disk with /dev/full.
#[test]
fn full_disk_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let capture = CaptureWriter::create(folder.path(), &Header::new(Backend::Cpu)).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("stream-1.part")).unwrap();
    let error = capture.stream(StreamId(1)).err().unwrap();
    assert!(
        matches!(error, TraceError::DiskFull { kept_bytes: 0, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_capture_round_trips(launches in proptest::collection::vec(
        proptest::collection::vec(proptest::collection::vec(any_group(BASE), 1..40), 0..4), 0..4)) {
        let folder = tempfile::tempdir().unwrap();
        let capture = write(folder.path(), BASE, &launches);
        prop_assert!(capture.complete);
        prop_assert_eq!(groups(&capture).0, flat(&launches));
    }

    #[test]
    fn any_bytes_are_handled(events: Vec<u8>, stream: Vec<u8>, keep_magic: bool) {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), BASE, &small());
        for (file, noise) in [("events.sst", &events), ("stream-0.sst", &stream)] {
            let path = folder.path().join(file);
            let header = if keep_magic { std::fs::read(&path).unwrap()[..32].to_vec() } else { Vec::new() };
            std::fs::write(&path, [header, noise.clone()].concat()).unwrap();
            if let Ok(capture) = Capture::open(folder.path()) {
                prop_assert!(!capture.complete);
                groups(&capture);
                capture.verify().unwrap();
            }
        }
    }
}
