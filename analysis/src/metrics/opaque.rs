//! Launches of code that Superstep did not build.

use crate::columns;
use serde::Deserialize;
use superstep_table::table;
use superstep_trace::{Capture, HostEvent};

table! {
    /// The opaque launches of one kernel; rows are in order of first launch.
    pub struct OpaqueRow = "opaque-launches": Eq, Deserialize {
        kernel: String = "demangled name without parameters, if the driver provides one";
        kernel_symbol: String = columns::KERNEL_SYMBOL;
        launches: u64 ["launches"] = columns::LAUNCHES;
        known_launches: u64 ["launches"] = "launches whose writes are known";
        timed_launches: u64 ["launches"] = "launches whose time is known";
        elapsed_ns: u64 ["ns"] = "total known running time in the traced program";
    }
}

pub(crate) fn rows(capture: &Capture) -> Vec<OpaqueRow> {
    let mut rows: Vec<OpaqueRow> = Vec::new();
    let row = |rows: &mut Vec<OpaqueRow>, symbol: &str| {
        let known = rows.iter().position(|row| row.kernel_symbol == symbol);
        known.unwrap_or_else(|| {
            rows.push(OpaqueRow {
                kernel: superstep_trace::display_name(symbol),
                kernel_symbol: symbol.to_owned(),
                ..OpaqueRow::default()
            });
            rows.len() - 1
        })
    };
    for timed in capture.replay() {
        match timed.event {
            HostEvent::OpaqueLaunch(launch) => {
                let index = row(&mut rows, launch.name());
                rows[index].launches += 1;
                rows[index].known_launches += u64::from(launch.call.is_some());
            }
            HostEvent::OpaqueEnd { launch, end } => {
                let index = row(&mut rows, launch.name());
                rows[index].timed_launches += 1;
                rows[index].elapsed_ns += end.elapsed_ns;
            }
            _ => {}
        }
    }
    rows
}
