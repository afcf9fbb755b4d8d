//! Launches by a proprietary library, which reaches the driver only through `dlsym`.

mod common;

use common::Program;
use superstep_trace::{Block, HostEvent, KnownCall, StreamId};

/// The library reaches the driver only through `dlsym`; the stand-in for libcudart launches through the driver, too.
#[test]
fn launches_by_a_proprietary_library_are_opaque() {
    let run = Program::build("trace").run("closed");
    assert!(run.status.success(), "{}", run.stderr);
    assert!(run.capture.complete, "{:?}", run.capture.problems);
    let summary = run.summary();
    assert_eq!((summary.launches, &summary.faults), (2, &vec![]));
    let opaque: Vec<_> = (summary.opaque.iter())
        .map(|kernel| (&*kernel.name, kernel.launches))
        .collect();
    let unnamed = superstep_trace::OpaqueLaunch::UNNAMED;
    let expected = [("_Z4gemmPf", 3), ("_Z5otherv", 1), (unnamed, 1)];
    assert_eq!(opaque, expected);
    assert!(summary.opaque.iter().any(|kernel| kernel.ns > 0));

    let mut order = Vec::new();
    let mut ends = 0;
    for timed in run.capture.replay() {
        match timed.event {
            HostEvent::Launch(_) => order.push("launch".to_owned()),
            HostEvent::Copy(copy) if copy.bytes == 64 && copy.stream == StreamId(0) => {
                order.push("copy".to_owned());
            }
            HostEvent::Memset(fill) if fill.bytes == 32 => order.push("fill".to_owned()),
            HostEvent::OpaqueLaunch(launch) => {
                let block = launch.geometry.map_or(0, |geometry| geometry.block[0]);
                order.push(format!("{} {block} {}", launch.name(), launch.stream));
            }
            HostEvent::OpaqueEnd { .. } => ends += 1,
            _ => {}
        }
    }
    let start = order.iter().position(|step| step == "launch").unwrap();
    let gemm = "_Z4gemmPf 128 1";
    let unnamed = format!("{unnamed} 0 1");
    let expected = [
        "launch",
        "copy",
        "fill",
        gemm,
        gemm,
        gemm,
        "_Z5otherv 32 0",
        &unnamed,
        "launch",
    ];
    assert_eq!(order[start..], expected);
    assert_eq!(ends, 5);

    let run = Program::build("none").run("closed");
    assert!(run.status.success(), "{}", run.stderr);
    let opaque: u64 = (run.summary().opaque.iter())
        .map(|kernel| kernel.launches)
        .sum();
    assert_eq!(
        opaque,
        2 + 5,
        "in an untraced run, the program's own kernels are opaque as well"
    );
}

/// The function is recognised whether it is called directly or through `dlsym`; the library's other launches are not.
#[test]
fn a_known_call_records_its_reads_and_writes() {
    let run = Program::build("trace").run("known");
    assert!(run.status.success(), "{}", run.stderr);
    let mut memory = None;
    let mut calls = Vec::new();
    for timed in run.capture.replay() {
        match timed.event {
            HostEvent::Allocate(allocation) if allocation.bytes == 1024 => {
                memory = Some(allocation.address);
            }
            HostEvent::OpaqueLaunch(launch) => calls.push((launch.name(), launch.call.clone())),
            _ => {}
        }
    }
    let block = |words: u64, bytes, rows, row_pitch| Block {
        address: memory.unwrap() + 4 * words,
        bytes,
        rows,
        row_pitch,
        planes: 1,
        plane_pitch: 0,
    };
    let call = KnownCall {
        function: "cublasSgemm_v2".into(),
        reads: vec![block(0, 20, 2, 20), block(32, 24, 2, 24)],
        writes: vec![block(64, 20, 6, 40)],
    };
    let known = ("_Z5sgemmPf", Some(call));
    assert_eq!(calls[..2], [known.clone(), known]);
    assert_eq!(calls.len(), 2 + 5);
    assert!(calls[2..].iter().all(|(_, call)| call.is_none()));
}
