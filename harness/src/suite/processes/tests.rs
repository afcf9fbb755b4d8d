//! Tests of `processes`.

use super::*;
use superstep_testing as testing;
use superstep_trace::{CaptureWriter, Event, Header, Journal, LaunchEnd, LaunchOutcome, Note};

fn summary(process: Process, launches: u64, faults: &[&str]) -> Summary {
    let kernel = KernelTotals {
        name: "_Zk".into(),
        launches,
        ns: 5,
        resources: None,
    };
    Summary {
        process: Some(process),
        launches,
        kernel_ns: 5,
        kernels: vec![kernel; usize::from(launches > 0)],
        faults: faults.iter().map(ToString::to_string).collect(),
        ..Summary::new(Backend::Cpu)
    }
}

/// Writes the files of process `pid`: a summary unless it was killed, and a capture.
fn leave(place: &Path, pid: u32, launches: u64, is_killed: bool, faults: &[&str]) {
    let process = Process {
        rank: None,
        pid,
        earlier: 0,
    };
    let header = Header {
        process: Some(process),
        ..Header::new(Backend::Cpu)
    };
    let folder = place.join("capture").join(process.to_string());
    let capture = CaptureWriter::create(folder, &header).unwrap();
    for number in 0..launches {
        let mut launch = testing::launch("_Zk", 1, 32);
        (launch.sequence, launch.launch.0) = (number, number as u32);
        capture.event(&Event::Launch(launch)).unwrap();
    }
    if !is_killed {
        capture.finish(&Outcome::Finished).unwrap();
        let path = summaries(place).join(process.to_string());
        let mut journal = Journal::create(path, summary(process, launches, faults)).unwrap();
        journal.add(Note::End { counted: false }).unwrap();
    }
}

fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(summaries(place.path())).unwrap();
    place
}

fn collected(place: &Path) -> Collected {
    collect(place, Some(&place.join("capture")), Backend::Cpu, true).unwrap()
}

#[test]
fn files_of_a_single_process_are_in_their_usual_place() {
    for is_killed in [false, true] {
        let place = place();
        leave(place.path(), 3, 0, false, &[]);
        leave(place.path(), 7, 2, is_killed, &[]);
        let left = collected(place.path());
        assert!(left.processes.is_empty());
        assert_eq!(left.summary.is_err(), is_killed);
        let capture = Capture::open(place.path().join("capture/events.sst")).unwrap();
        assert_eq!(capture.header.process.unwrap().pid, 7);
        assert!(!summaries(place.path()).exists());
    }
    let idle = place();
    leave(idle.path(), 3, 0, false, &[]);
    assert_eq!(collected(idle.path()).summary.unwrap().launches, 0);
    assert!(idle.path().join("capture/events.sst").is_file());
    // A program without CUDA leaves nothing. If it was stopped, whether it would have used CUDA is unknown.
    let (over, stopped) = (place(), place());
    assert_eq!(collected(over.path()).summary.unwrap().launches, 0);
    assert!(over.path().join("capture/events.sst").is_file());
    let left = collect(stopped.path(), None, Backend::Cpu, false);
    assert!(left.unwrap().summary.is_err());
}

#[test]
fn processes_are_added_up_and_each_fault_names_its_process() {
    let place = place();
    leave(place.path(), 10, 2, false, &[]);
    leave(place.path(), 9, 3, false, &[]);
    leave(place.path(), 1, 0, false, &["odd"]);
    leave(place.path(), 2, 0, false, &[]);
    let left = collected(place.path());
    let pids: Vec<u32> = left.processes.iter().map(|one| one.process.pid).collect();
    assert_eq!(pids, [1, 9, 10]);
    let sum = left.summary.unwrap();
    assert_eq!((sum.launches, sum.kernels[0].launches), (5, 5));
    assert_eq!(sum.faults, ["pid-1: odd"]);
    assert!(!place.path().join("capture/pid-2").exists());
}

#[test]
fn a_process_that_ends_early_has_a_summary() {
    // `ends` is whether the last launch has an end.
    for ends in [true, false] {
        let place = place();
        leave(place.path(), 1, 1, false, &[]);
        leave(place.path(), 2, 0, true, &[]);
        let process = Process {
            rank: None,
            pid: 2,
            earlier: 0,
        };
        let path = summaries(place.path()).join("pid-2");
        let mut journal = Journal::create(path, summary(process, 0, &[])).unwrap();
        let folder = place.path().join("capture/pid-2");
        let header = Capture::open(&folder).unwrap().header;
        let capture = CaptureWriter::create(&folder, &header).unwrap();
        let launch = testing::launch("_Zk", 1, 32);
        capture.event(&Event::Launch(launch.clone())).unwrap();
        if ends {
            let end = LaunchEnd {
                stream: launch.stream,
                launch: launch.launch,
                thread_accesses: 0,
                elapsed_ns: 0,
                outcome: LaunchOutcome::Completed,
            };
            capture.event(&Event::LaunchEnd(end)).unwrap();
            let note = |kernel| Note::Launch { kernel, ns: 5 };
            journal.add_of("_Zk", note).unwrap();
        }
        drop(capture);
        let left = collected(place.path());
        assert_eq!(left.processes.len(), 2);
        assert_eq!(left.summary.unwrap().launches, 1 + u64::from(ends));
        assert_eq!((left.early.len(), left.early[0].is_whole), (1, ends));
        assert_eq!(Capture::open(&folder).unwrap().complete, ends);
        let check = early_ends(&left.early).unwrap();
        assert!(
            check.ok == ends && check.detail.contains("pid-2"),
            "{check:?}"
        );
    }
}

#[test]
fn a_killed_process_is_reported() {
    let place = place();
    leave(place.path(), 1, 1, false, &[]);
    leave(place.path(), 2, 1, true, &[]);
    let left = collected(place.path());
    assert_eq!(left.processes.len(), 2);
    assert!(
        left.summary
            .unwrap_err()
            .to_string()
            .starts_with("pid-2 left no summary")
    );
}
