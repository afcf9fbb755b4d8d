//! How much memory each launch touches, and how often.

use super::{Row, Source, share};
use crate::columns;
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};

/// One launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FootprintRow {
    /// Its stream.
    pub stream: u32,
    /// Number within the stream.
    pub superstep: u32,
    /// Name of its kernel for people.
    pub kernel: String,
    /// Distinct bytes that it read.
    pub read_bytes: u64,
    /// Distinct bytes that it wrote.
    pub written_bytes: u64,
    /// Distinct bytes that it read or wrote.
    pub touched_bytes: u64,
    /// Bytes of all accesses over `touched_bytes`: how often a byte is used, on average.
    pub accesses_per_byte: f64,
    /// Share of the touched bytes that the launch before had touched, too.
    pub reused_share: f64,
    /// Share of the touched bytes that any earlier launch had touched.
    pub known_share: f64,
}

impl Row for FootprintRow {
    const TABLE: &'static str = "footprint";
    const COLUMNS: &'static [Column] = &[
        columns::STREAM,
        columns::SUPERSTEP,
        columns::KERNEL,
        column("read_bytes", "bytes", "distinct bytes read"),
        column("written_bytes", "bytes", "distinct bytes written"),
        column("touched_bytes", "bytes", "distinct bytes read or written"),
        column(
            "accesses_per_byte",
            "",
            "bytes of all loads and stores, atomics on both sides, over the touched bytes",
        ),
        column(
            "reused_share",
            "",
            "share of the touched bytes that the launch before had touched",
        ),
        column(
            "known_share",
            "",
            "share of the touched bytes that any earlier launch had touched since they were allocated",
        ),
    ];
}

/// In the order of the host's calls.
#[must_use]
pub fn rows(source: &Source<'_>) -> Vec<FootprintRow> {
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
