//! What ran when, as a Chrome trace: open it in Perfetto or `chrome://tracing`.
//!
//! One row for the host, with the calls in the order in which they were made, and one for each stream, with a bar for each
//! launch. A launch's bar ends where its end was noted and is as long as the kernel ran. These are times of the *traced*
//! program.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use superstep_trace::{Capture, Event, LaunchOutcome};

use crate::error::{ExportError, Result};
use crate::file::Staged;

/// Process number of the host's row.
const HOST: u32 = 0;
/// Process number of the streams' rows.
const DEVICE: u32 = 1;

/// Writes the timeline of a capture to `path`.
///
/// # Errors
/// The capture has no times: it was imported, or written by a version before they were kept. The file cannot be written.
pub fn write(capture: &Capture, path: &Path) -> Result<PathBuf> {
    let entries = entries(capture);
    if entries.is_empty() && capture.launches().next().is_some() {
        return Err(ExportError::NoTimes {
            path: capture.folder().to_owned(),
        });
    }
    let mut file = Staged::create(path)?;
    serde_json::to_writer(&mut file, &document(capture, entries))
        .map_err(ExportError::file("write", path))?;
    file.write_all(b"\n")
        .map_err(ExportError::file("write", path))?;
    file.finish()
}

fn document(capture: &Capture, entries: Vec<Value>) -> Value {
    let mut all = vec![
        name("process_name", HOST, 0, "host"),
        name("process_name", DEVICE, 0, &capture.header.device.name),
        name("thread_name", HOST, 0, "CUDA calls"),
    ];
    let mut streams: Vec<_> = capture.launches().map(|launch| launch.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    for stream in streams {
        all.push(name(
            "thread_name",
            DEVICE,
            stream.0,
            &format!("stream {stream}"),
        ));
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

/// One entry for each event that has a time.
fn entries(capture: &Capture) -> Vec<Value> {
    (capture.events.iter().zip(&capture.event_times_ns))
        .filter_map(|(event, time)| entry(capture, event, (*time)?))
        .collect()
}

fn entry(capture: &Capture, event: &Event, at_ns: u64) -> Option<Value> {
    let call = |name: &str, arguments: Value| json!({"ph": "i", "s": "t", "name": name, "cat": "host", "ts": microseconds(at_ns), "pid": HOST, "tid": 0, "args": arguments});
    Some(match event {
        Event::Launch(launch) => call(
            &format!("launch {}", capture.sites().display_name(&launch.kernel)),
            json!({"stream": launch.stream, "superstep": launch.launch, "grid": launch.grid, "block": launch.block}),
        ),
        Event::LaunchEnd {
            stream,
            launch,
            thread_accesses,
            elapsed_ns,
            outcome,
        } => {
            let announced = capture.launch(*stream, *launch)?;
            let outcome = match outcome {
                LaunchOutcome::Completed => "completed",
                LaunchOutcome::Failed(reason) => reason,
            };
            json!({
                "ph": "X",
                "name": capture.sites().display_name(&announced.kernel),
                "cat": "kernel",
                "ts": microseconds(at_ns.saturating_sub(*elapsed_ns)),
                "dur": microseconds(*elapsed_ns),
                "pid": DEVICE,
                "tid": stream,
                "args": {
                    "superstep": launch,
                    "grid": announced.grid,
                    "block": announced.block,
                    "thread_accesses": thread_accesses,
                    "outcome": outcome,
                },
            })
        }
        Event::Allocate {
            id, bytes, kind, ..
        } => call(
            "allocate",
            json!({"allocation": id, "bytes": bytes, "kind": kind}),
        ),
        Event::Free { id, .. } => call("free", json!({"allocation": id})),
        Event::Copy {
            direction, bytes, ..
        } => call("copy", json!({"direction": direction, "bytes": bytes})),
        Event::Memset { bytes, value, .. } => {
            call("memset", json!({"bytes": bytes, "value": value}))
        }
        Event::Selected { recorded, .. } => call("partly recorded", json!({"recorded": recorded})),
        Event::Note(text) => call("note", json!({"text": text})),
    })
}

/// Chrome's unit.
fn microseconds(ns: u64) -> f64 {
    ns as f64 / 1000.0
}
