//! Memory that each launch touches, and how often.

use super::{Source, share};
use crate::columns;
use serde::Deserialize;
use superstep_table::table;

table! {
    /// One launch.
    pub struct FootprintRow = "footprint": Deserialize {
        stream: u32 = columns::STREAM;
        superstep: u32 = columns::SUPERSTEP;
        kernel: String = columns::KERNEL;
        read_bytes: u64 ["bytes"] = "distinct bytes read";
        written_bytes: u64 ["bytes"] = "distinct bytes written";
        touched_bytes: u64 ["bytes"] = "distinct bytes read or written";
        accesses_per_byte: f64 =
            "bytes of all loads and stores, with atomics counted as both, divided by the touched bytes";
        reused_share: f64 = "share of the touched bytes that the previous launch had touched";
        known_share: f64 =
            "share of the touched bytes that any earlier launch had touched since they were allocated";
    }
}

pub(super) fn rows(source: &Source<'_>) -> Vec<FootprintRow> {
    let communication = source.communication;
    (communication.launches.iter().zip(&communication.footprints))
        .map(|(launch, footprint)| FootprintRow {
            stream: launch.stream.0,
            superstep: launch.superstep.0,
            kernel: source.sites.display_name(&launch.kernel).to_owned(),
            read_bytes: footprint.read_bytes,
            written_bytes: footprint.written_bytes,
            touched_bytes: footprint.touched_bytes,
            accesses_per_byte: share(
                launch.volume.loaded_bytes + launch.volume.stored_bytes,
                footprint.touched_bytes,
            ),
            reused_share: share(footprint.again_bytes, footprint.touched_bytes),
            known_share: share(footprint.known_bytes, footprint.touched_bytes),
        })
        .collect()
}
