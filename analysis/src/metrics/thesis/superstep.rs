//! Figure 6.7: bytes communicated in each superstep.

use crate::columns;
use crate::metrics::Source;
use serde::Deserialize;
use superstep_table::table;

table! {
    /// One launch.
    pub struct SuperstepRow = "superstep-volume": Eq, Deserialize {
        stream: u32 = columns::STREAM;
        superstep: u32 = columns::SUPERSTEP;
        kernel: String = columns::KERNEL;
        stored_bytes: u64 ["bytes"] = "stored by the launch and later read by another entity";
        received_bytes: u64 ["bytes"] =
            "read by the launch from other entities' stores, each byte counted once per pair of CTAs";
        loaded_bytes: u64 ["bytes"] = "read by the launch from other entities' stores, counting every access";
    }
}

/// Returns the launches in the order of the host's calls.
pub(in crate::metrics) fn rows(source: &Source<'_>) -> Vec<SuperstepRow> {
    (source.communication.launches.iter())
        .map(|launch| SuperstepRow {
            stream: launch.stream.0,
            superstep: launch.superstep.0,
            kernel: source.sites.display_name(&launch.kernel).to_owned(),
            stored_bytes: launch.volume.communicated_stored_bytes,
            received_bytes: launch.volume.received_bytes,
            loaded_bytes: launch.volume.communicated_loaded_bytes,
        })
        .collect()
}
