//! Tests for `writer`.

use super::*;
use crate::{AccessGroup, Backend, Capture, Launch, LaunchEnd, LaunchId, LaunchOutcome};

fn launch(ctas: u32, threads: u32) -> Launch {
    Launch {
        sequence: 0,
        stream: StreamId(0),
        launch: LaunchId(0),
        kernel: "_Zk".into(),
        grid: [ctas, 1, 1],
        block: [threads, 1, 1],
        ..Launch::default()
    }
}

/// A concurrent reader sees every state that a killed program can leave.
#[test]
fn new_capture_is_absent_or_readable() {
    let folder = tempfile::tempdir().unwrap();
    let path = |number: u32| folder.path().join(number.to_string());
    let write = |number| {
        let header = Header::new(Backend::Cpu);
        let capture = CaptureWriter::create(path(number), &header).unwrap();
        capture.stream(StreamId(0)).unwrap();
        capture.finish(&Outcome::Finished).unwrap();
    };
    let (mut seen, mut number) = (0, 0);
    // On a busy machine, the reader may run after each of the first writers.
    while number < 200 || seen == 0 {
        assert!(number < 100_000, "no unfinished capture was seen");
        std::thread::scope(|scope| {
            let writer = scope.spawn(move || write(number));
            while !writer.is_finished() {
                match Capture::open(path(number)) {
                    Ok(capture) => {
                        assert!(!capture.damaged, "{:?}", capture.problems);
                        seen += u32::from(!capture.complete);
                    }
                    Err(TraceError::NotACapture { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        number += 1;
    }
}

#[test]
fn writes_after_the_end_are_kept_if_ended_again() {
    let folder = tempfile::tempdir().unwrap();
    let capture = CaptureWriter::create(folder.path(), &Header::new(Backend::Cpu)).unwrap();
    let stream = capture.stream(StreamId(0)).unwrap();
    let write = |number: u32| {
        let mut launch = launch(8, 32);
        (launch.sequence, launch.launch.0) = (number.into(), number);
        capture.event(&Event::Launch(launch)).unwrap();
        let mut chunk = ChunkBuilder::new(LaunchId(number));
        chunk.push(&AccessGroup {
            mask: 1,
            width_bytes: 4,
            ..AccessGroup::EMPTY
        });
        stream.flush(&mut chunk).unwrap();
        let end = LaunchEnd {
            stream: StreamId(0),
            launch: LaunchId(number),
            thread_accesses: 1,
            elapsed_ns: 1,
            outcome: LaunchOutcome::Completed,
        };
        capture.event(&Event::LaunchEnd(end)).unwrap();
    };
    let read = || Capture::open(folder.path()).unwrap();
    write(0);
    capture.finish(&Outcome::Finished).unwrap();
    assert!(read().complete);
    for number in 1..4 {
        write(number);
        assert!(!read().complete, "its end record is missing");
        let failed = Outcome::Failed(number.to_string());
        capture.finish(&failed).unwrap();
        capture.finish(&failed).unwrap();
        let read = read();
        assert!(
            read.complete && read.problems.is_empty(),
            "{:?}",
            read.problems
        );
        assert_eq!(read.outcome, Some(failed));
        let accesses = read.launches().map(|launch| launch.thread_accesses());
        assert_eq!(accesses.sum::<u64>(), u64::from(number) + 1);
    }
}

#[test]
fn folder_in_use_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let create = || CaptureWriter::create(folder.path(), &Header::new(Backend::Cpu));
    let first = create().unwrap();
    assert!(matches!(create(), Err(TraceError::InUse { .. })));
    first.finish(&Outcome::Finished).unwrap();
    drop(first);
    assert!(create().is_ok(), "an older capture is replaced");
}

#[test]
fn unfinished_capture_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (events, stream) = (EVENTS_FILE.to_owned(), stream_file_name(StreamId(0)));
    let capture = CaptureWriter::create(folder.path(), &Header::new(Backend::Cpu)).unwrap();
    let launch = launch(1, 32);
    capture.event(&Event::Launch(launch.clone())).unwrap();
    let mut chunk = ChunkBuilder::new(launch.launch);
    chunk.push(&AccessGroup {
        mask: 3,
        ..AccessGroup::EMPTY
    });
    capture
        .stream(StreamId(0))
        .unwrap()
        .flush(&mut chunk)
        .unwrap();
    let end = || end_capture(folder.path(), &Outcome::Finished);
    assert!(matches!(end(), Err(TraceError::InUse { .. })));
    drop(capture);
    for name in [&events, &stream] {
        let whole = std::fs::read(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name), &whole[..whole.len() - 1]).unwrap();
        assert!(matches!(end(), Err(TraceError::Damaged { .. })));
        std::fs::write(folder.path().join(name), whole).unwrap();
    }
    for _ in 0..2 {
        end().unwrap();
        let read = Capture::open(folder.path()).unwrap();
        assert!(read.complete, "{:?}", read.problems);
        assert_eq!(read.outcome, Some(Outcome::Finished));
        let launches: Vec<_> = read.launches().map(|it| it.chunks.len()).collect();
        assert_eq!(launches, [1]);
    }
}
