//! Tests for `processes`.

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
fn write_files(root: &Path, pid: u32, launches: u64, is_killed: bool, faults: &[&str]) {
    let process = Process {
        rank: None,
        pid,
        earlier: 0,
    };
    let header = Header {
        process: Some(process),
        ..Header::new(Backend::Cpu)
    };
    let folder = root.join("capture").join(process.to_string());
    let capture = CaptureWriter::create(folder, &header).unwrap();
    for number in 0..launches {
        let mut launch = testing::launch("_Zk", 1, 32);
        (launch.sequence, launch.launch.0) = (number, number as u32);
        capture.event(&Event::Launch(launch)).unwrap();
    }
    if !is_killed {
        capture.finish(&Outcome::Finished).unwrap();
        let path = summaries(root).join(process.to_string());
        let mut journal = Journal::create(path, summary(process, launches, faults)).unwrap();
        journal.add(Note::End { counted: false }).unwrap();
    }
}

fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(summaries(root.path())).unwrap();
    root
}

fn collected(root: &Path) -> Collected {
    collect(root, Some(&root.join("capture")), Backend::Cpu, true).unwrap()
}

#[test]
fn files_of_a_single_process_have_their_usual_paths() {
    for is_killed in [false, true] {
        let root = root();
        write_files(root.path(), 3, 0, false, &[]);
        write_files(root.path(), 7, 2, is_killed, &[]);
        let result = collected(root.path());
        assert!(result.processes.is_empty());
        assert_eq!(result.summary.is_err(), is_killed);
        let capture = Capture::open(root.path().join("capture/events.sst")).unwrap();
        assert_eq!(capture.header.process.unwrap().pid, 7);
        assert!(!summaries(root.path()).exists());
    }
    let idle = root();
    write_files(idle.path(), 3, 0, false, &[]);
    assert_eq!(collected(idle.path()).summary.unwrap().launches, 0);
    assert!(idle.path().join("capture/events.sst").is_file());
    // A program without CUDA writes no files. If it was stopped, it is unknown whether it would have used CUDA.
    let (finished, stopped) = (root(), root());
    assert_eq!(collected(finished.path()).summary.unwrap().launches, 0);
    assert!(finished.path().join("capture/events.sst").is_file());
    let result = collect(stopped.path(), None, Backend::Cpu, false);
    assert!(result.unwrap().summary.is_err());
}

#[test]
fn processes_are_added_up_and_each_fault_names_its_process() {
    let root = root();
    write_files(root.path(), 10, 2, false, &[]);
    write_files(root.path(), 9, 3, false, &[]);
    write_files(root.path(), 1, 0, false, &["odd"]);
    write_files(root.path(), 2, 0, false, &[]);
    let result = collected(root.path());
    let pids: Vec<u32> = result.processes.iter().map(|run| run.process.pid).collect();
    assert_eq!(pids, [1, 9, 10]);
    let sum = result.summary.unwrap();
    assert_eq!((sum.launches, sum.kernels[0].launches), (5, 5));
    assert_eq!(sum.faults, ["pid-1: odd"]);
    assert!(!root.path().join("capture/pid-2").exists());
}

#[test]
fn a_process_that_ends_early_has_a_summary() {
    // Whether the last launch has an end record.
    for ends in [true, false] {
        let root = root();
        write_files(root.path(), 1, 1, false, &[]);
        write_files(root.path(), 2, 0, true, &[]);
        let process = Process {
            rank: None,
            pid: 2,
            earlier: 0,
        };
        let path = summaries(root.path()).join("pid-2");
        let mut journal = Journal::create(path, summary(process, 0, &[])).unwrap();
        let folder = root.path().join("capture/pid-2");
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
            journal.add_for_kernel("_Zk", note).unwrap();
        }
        drop(capture);
        let result = collected(root.path());
        assert_eq!(result.processes.len(), 2);
        assert_eq!(result.summary.unwrap().launches, 1 + u64::from(ends));
        assert_eq!((result.early.len(), result.early[0].is_complete), (1, ends));
        assert_eq!(Capture::open(&folder).unwrap().complete, ends);
        let check = early_ends(&result.early).unwrap();
        assert!(
            check.ok == ends && check.detail.contains("pid-2"),
            "{check:?}"
        );
    }
}

#[test]
fn a_killed_process_is_reported() {
    let root = root();
    write_files(root.path(), 1, 1, false, &[]);
    write_files(root.path(), 2, 1, true, &[]);
    let result = collected(root.path());
    assert_eq!(result.processes.len(), 2);
    assert!(
        result
            .summary
            .unwrap_err()
            .to_string()
            .starts_with("pid-2 left no summary")
    );
}
