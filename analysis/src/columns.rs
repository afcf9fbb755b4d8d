//! Columns that several tables have, with the same meaning in each.

use crate::tables::{Column, column};

pub(crate) const KERNEL: Column = column("kernel", "", "demangled name without parameters");
pub(crate) const STREAM: Column =
    column("stream", "", "number of the stream, in order of first use");
pub(crate) const SUPERSTEP: Column = column(
    "superstep",
    "",
    "number of the launch within its stream, from 0",
);
pub(crate) const COMMUNICATED_LOADED_BYTES: Column = column(
    "communicated_loaded_bytes",
    "bytes",
    "last written in an earlier launch by another entity",
);
pub(crate) const SELF_LOADED_BYTES: Column = column(
    "self_loaded_bytes",
    "bytes",
    "last written in an earlier launch by the same entity alone",
);
pub(crate) const INPUT_LOADED_BYTES: Column =
    column("input_loaded_bytes", "bytes", "last written by the host");
pub(crate) const UNINITIALISED_LOADED_BYTES: Column =
    column("uninitialised_loaded_bytes", "bytes", "written by nobody");
pub(crate) const LOCAL_LOADED_BYTES: Column = column(
    "local_loaded_bytes",
    "bytes",
    "written earlier in the launch by the same thread",
);
pub(crate) const RECEIVED_BYTES: Column = column(
    "received_bytes",
    "bytes",
    "each byte once for each receiving CTA, launch and source CTA",
);
pub(crate) const STORED_BYTES: Column = column("stored_bytes", "bytes", "stored, atomics included");
pub(crate) const SOURCE_STREAM: Column =
    column("source_stream", "", "stream of the launch that wrote");
pub(crate) const SOURCE_SUPERSTEP: Column =
    column("source_superstep", "", "its number within the stream");
pub(crate) const RECEIVER_STREAM: Column =
    column("receiver_stream", "", "stream of the launch that read");
pub(crate) const RECEIVER_SUPERSTEP: Column =
    column("receiver_superstep", "", "its number within the stream");
pub(crate) const DISTANCE: Column = column(
    "distance",
    "launches",
    "receiver − source − 1, in the order of the host's calls",
);
pub(crate) const PLACE: Column = column("place", "", "file and line of the host's call");
pub(crate) const SHARE_OF_TRANSFERRED: Column =
    column("share", "", "share of all transferred bytes");
pub(crate) const FILE: Column = column("file", "", "source file of the load");
pub(crate) const LINE: Column = column("line", "", "its line, from 1");
