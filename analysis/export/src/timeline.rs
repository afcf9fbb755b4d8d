//! Launches, copies and allocations over time, as a Chrome trace for Perfetto or `chrome://tracing`.
//!
//! One row shows the host's calls. Each stream has a row with one bar per launch, including opaque launches; a bar ends
//! when the end of the launch was recorded, and its length is the kernel's running time in the *traced* program.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use superstep_table::write_json;
use superstep_trace::{
    Allocation, Capture, HostCopy, HostEvent, HostMemset, LaunchOutcome, LaunchRecord,
    OpaqueGeometry, OpaqueLaunch, Recorded, StreamId, display_name,
};

use crate::error::{ExportError, Result};

const HOST: u32 = 0;
const DEVICE: u32 = 1;

/// Writes the timeline of a capture to `path`. Imported captures have no times.
pub fn write(capture: &Capture, path: &Path) -> Result<PathBuf> {
    let entries = entries(capture);
    if entries.is_empty() && capture.launches().next().is_some() {
        return Err(ExportError::NoTimes(capture.folder().to_owned()));
    }
    Ok(write_json(path, &document(capture, entries))?)
}

fn document(capture: &Capture, entries: Vec<Value>) -> Value {
    let mut all = vec![
        name("process_name", HOST, 0, "host"),
        name("process_name", DEVICE, 0, &capture.header.device.name),
        name("thread_name", HOST, 0, "CUDA calls"),
    ];
    for stream in capture.streams() {
        let stream_name = format!("stream {stream}");
        all.push(name("thread_name", DEVICE, stream.0, &stream_name));
    }
    all.extend(entries);
    json!({
        "traceEvents": all,
        "displayTimeUnit": "ns",
        "otherData": {
            "program": capture.header.program,
            "tool": format!("superstep {}", capture.header.tool_version),
        },
    })
}

fn name(kind: &str, process: u32, thread: u32, name: &str) -> Value {
    json!({"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}})
}

fn entries(capture: &Capture) -> Vec<Value> {
    (capture.replay())
        .filter_map(|timed| Some(entries_of(capture, timed.event, timed.at_ns?)))
        .flatten()
        .collect()
}

fn entries_of(capture: &Capture, step: HostEvent, at_ns: u64) -> Vec<Value> {
    let call = |name: &str, arguments: Value| json!({"ph": "i", "s": "t", "name": name, "cat": "host", "ts": microseconds(at_ns), "pid": HOST, "tid": 0, "args": arguments});
    let bar = |kind: &str, name: &str, stream: StreamId, elapsed_ns: u64, arguments: Value| {
        let start = microseconds(at_ns.saturating_sub(elapsed_ns));
        json!({"ph": "X", "name": name, "cat": kind, "ts": start, "dur": microseconds(elapsed_ns), "pid": DEVICE, "tid": stream, "args": arguments})
    };
    let note = |text: String| call("note", json!({"text": text}));
    vec![match step {
        HostEvent::Launch(LaunchRecord {
            launch, recorded, ..
        }) => {
            let launched = call(
                &format!("launch {}", capture.sites().display_name(&launch.kernel)),
                json!({"stream": launch.stream, "superstep": launch.launch, "grid": launch.grid, "block": launch.block}),
            );
            if recorded != Recorded::All {
                let partly = call("partly recorded", json!({"recorded": recorded}));
                return vec![launched, partly];
            }
            launched
        }
        HostEvent::LaunchEnd { launch, end } => {
            let outcome = match &end.outcome {
                LaunchOutcome::Completed => "completed",
                LaunchOutcome::Failed(reason) => reason,
            };
            let name = capture.sites().display_name(&launch.kernel);
            let arguments = json!({
                "superstep": launch.launch,
                "grid": launch.grid,
                "block": launch.block,
                "thread_accesses": end.thread_accesses,
                "outcome": outcome,
            });
            bar("kernel", name, launch.stream, end.elapsed_ns, arguments)
        }
        HostEvent::Allocate(Allocation {
            id, bytes, kind, ..
        }) => call(
            "allocate",
            json!({"allocation": id, "bytes": bytes, "kind": kind}),
        ),
        HostEvent::Free(Allocation { id, .. }) => call("free", json!({"allocation": id})),
        HostEvent::Copy(HostCopy {
            direction, bytes, ..
        }) => call("copy", json!({"direction": direction, "bytes": bytes})),
        HostEvent::Memset(HostMemset { bytes, value, .. }) => {
            call("memset", json!({"bytes": bytes, "value": value}))
        }
        HostEvent::OpaqueLaunch(launch) => call(
            &format!("opaque launch {}", display_name(launch.name())),
            opaque_arguments(launch),
        ),
        HostEvent::OpaqueEnd { launch, end } => {
            let (name, arguments) = (display_name(launch.name()), opaque_arguments(launch));
            bar("opaque", &name, launch.stream, end.elapsed_ns, arguments)
        }
        HostEvent::Gap(gap) => note(gap.to_string()),
        HostEvent::Transport(transport) => note(transport.to_string()),
        HostEvent::Note(text) => note(text.to_owned()),
    }]
}

fn opaque_arguments(launch: &OpaqueLaunch) -> Value {
    let mut arguments = match launch.geometry {
        Some(OpaqueGeometry { grid, block }) => json!({"grid": grid, "block": block}),
        None => json!({}),
    };
    if let Some(call) = &launch.call {
        arguments["call"] = json!(call.function);
    }
    arguments
}

fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
