//! Tests for `process`.

use super::*;
use crate::{Backend, Capture, CaptureWriter, Header, Outcome};

#[test]
fn captures_of_processes_are_ordered_by_rank() {
    let folder = tempfile::tempdir().unwrap();
    let write = |process: Process| {
        let path = folder.path().join(process.to_string());
        let header = Header {
            process: Some(process),
            ..Header::new(Backend::Cpu)
        };
        let capture = CaptureWriter::create(&path, &header).unwrap();
        capture.finish(&Outcome::Finished).unwrap();
        path
    };
    assert!(captures_in(folder.path()).unwrap().is_empty());
    let process = |rank, pid| Process {
        rank,
        pid,
        earlier: 0,
    };
    let last = write(process(Some(10), 3));
    let capture = Capture::open(folder.path()).unwrap();
    assert_eq!(capture.header.process, Some(process(Some(10), 3)));
    let first = write(process(Some(9), 40));
    assert_eq!(captures_in(folder.path()).unwrap(), [first.clone(), last]);
    assert_eq!(captures_in(&first).unwrap(), [first]);
    let error = Capture::open(folder.path()).unwrap_err();
    assert!(matches!(&error, TraceError::MultipleCaptures { captures, .. } if captures.len() == 2));
    assert!(error.to_string().contains("rank-9-pid-40, rank-10-pid-3"));
    assert_eq!(process(None, 7).to_string(), "pid-7");
    let second = Process {
        earlier: 1,
        ..process(None, 7)
    };
    assert_eq!(second.to_string(), "pid-7-2");
}

#[test]
fn captures_of_a_run_are_found_in_its_benchmarks() {
    let folder = tempfile::tempdir().unwrap();
    let write = |benchmark: &str| {
        let path = folder.path().join("benchmarks").join(benchmark);
        std::fs::create_dir_all(path.join("native")).unwrap();
        let capture = path.join("capture");
        let writer = CaptureWriter::create(&capture, &Header::new(Backend::Cpu)).unwrap();
        writer.finish(&Outcome::Finished).unwrap();
        capture
    };
    std::fs::create_dir_all(folder.path().join("benchmarks/failed/native")).unwrap();
    let error = Capture::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("it is not a capture"), "{error}");
    let path = write("path");
    assert_eq!(Capture::open(folder.path()).unwrap().folder(), path);
    let program_capture = Capture::open(path.parent().unwrap()).unwrap();
    assert_eq!(program_capture.folder(), path);
    let bfs = write("bfs");
    assert_eq!(captures_in(folder.path()).unwrap(), [bfs, path]);
    let error = Capture::open(folder.path()).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "it contains 2 captures; name one of them: benchmarks/bfs/capture, benchmarks/path/capture"
        ),
        "{error}"
    );
}
