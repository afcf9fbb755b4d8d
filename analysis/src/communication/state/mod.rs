//! State of memory by page: the last writers of each byte, and passes over the reads.

pub(crate) mod bitmap;
pub(crate) mod cells;
pub(crate) mod exact;
pub(crate) mod host;
pub(crate) mod large;
pub(crate) mod local;
pub(crate) mod ranges;
pub(crate) mod reader;
pub(crate) mod shadow;
pub(crate) mod shard;
pub(crate) mod shards;
pub(crate) mod singles;
pub(crate) mod unwritten;
pub(crate) mod writers;
