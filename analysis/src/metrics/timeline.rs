//! Times of launches.

use crate::columns;
use serde::Deserialize;
use superstep_table::table;
use superstep_trace::{Capture, HostEvent};

table! {
    /// One launch's running time in the traced program.
    pub struct TimelineRow = "timeline": Eq, Deserialize {
        stream: u32 = columns::STREAM;
        superstep: u32 = columns::SUPERSTEP;
        kernel: String = columns::KERNEL;
        begin_ns: u64 ["ns"] = "since the program's start: the recorded end of the launch minus elapsed_ns";
        elapsed_ns: u64 ["ns"] = "running time in the traced program";
        thread_accesses: u64 ["accesses"] = "recorded accesses";
    }
}

/// Returns the launches that ended, in the order in which they ended; none if the capture has no times.
pub(crate) fn rows(capture: &Capture) -> Vec<TimelineRow> {
    (capture.replay())
        .filter_map(|timed| {
            let HostEvent::LaunchEnd { launch, end } = timed.event else {
                return None;
            };
            Some(TimelineRow {
                stream: launch.stream.0,
                superstep: launch.launch.0,
                kernel: capture.sites().display_name(&launch.kernel).to_owned(),
                begin_ns: timed.at_ns?.saturating_sub(end.elapsed_ns),
                elapsed_ns: end.elapsed_ns,
                thread_accesses: end.thread_accesses,
            })
        })
        .collect()
}
