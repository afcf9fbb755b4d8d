//! When each launch ran.

use super::Row;
use crate::columns;
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};
use superstep_trace::{Capture, Step};

/// One launch's time, traced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineRow {
    /// Number of the stream.
    pub stream: u32,
    /// Number within the stream.
    pub superstep: u32,
    /// Demangled name without parameters.
    pub kernel: String,
    /// When it began, since the program's start: when its end was noted, less the time that it ran.
    pub begin_ns: u64,
    /// How long it ran.
    pub elapsed_ns: u64,
    /// Accesses recorded.
    pub thread_accesses: u64,
}

impl Row for TimelineRow {
    const TABLE: &'static str = "timeline";
    const COLUMNS: &'static [Column] = &[
        columns::STREAM,
        columns::SUPERSTEP,
        columns::KERNEL,
        column(
            "begin_ns",
            "ns",
            "since the program's start; when its end was noted, less elapsed_ns",
        ),
        column("elapsed_ns", "ns", "time it ran, traced"),
        column("thread_accesses", "accesses", "accesses recorded"),
    ];
}

/// The launches that ended, in the order of their ends; none where the capture has no times.
#[must_use]
pub fn rows(capture: &Capture) -> Vec<TimelineRow> {
    (capture.replay())
        .filter_map(|moment| {
            let Step::LaunchEnd { launch, end } = moment.step else {
                return None;
            };
            Some(TimelineRow {
                stream: launch.stream.0,
                superstep: launch.launch.0,
                kernel: capture.sites().display_name(&launch.kernel).to_owned(),
                begin_ns: moment.at_ns?.saturating_sub(end.elapsed_ns),
                elapsed_ns: end.elapsed_ns,
                thread_accesses: end.thread_accesses,
            })
        })
        .collect()
}
