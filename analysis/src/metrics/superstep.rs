//! Figure 6.7: communicating bytes of each superstep.

use super::{Row, Source};
use crate::columns;
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};

/// One launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuperstepRow {
    /// Its stream.
    pub stream: u32,
    /// Number within the stream.
    pub superstep: u32,
    /// Name of its kernel for people.
    pub kernel: String,
    /// Bytes stored that another entity reads later.
    pub stored_bytes: u64,
    /// Bytes received: each byte once for each receiving CTA and source CTA.
    pub received_bytes: u64,
    /// Bytes of all loads that communicate, every access counted.
    pub loaded_bytes: u64,
}

impl Row for SuperstepRow {
    const TABLE: &'static str = "superstep-volume";
    const COLUMNS: &'static [Column] = &[
        columns::STREAM,
        columns::SUPERSTEP,
        columns::KERNEL,
        column(
            "stored_bytes",
            "bytes",
            "stored by it and read by another entity later",
        ),
        column(
            "received_bytes",
            "bytes",
            "read by it from other entities' stores, each byte once for each pair of CTAs",
        ),
        column("loaded_bytes", "bytes", "the same, every access counted"),
    ];
}

/// In the order of the host's calls.
#[must_use]
pub fn rows(source: &Source<'_>) -> Vec<SuperstepRow> {
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
