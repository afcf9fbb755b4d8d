//! What every byte of memory holds and who wrote and read it, page by page.

pub(crate) mod bitmap;
pub(crate) mod exact;
pub(crate) mod host;
pub(crate) mod large;
pub(crate) mod local;
pub(crate) mod reader;
pub(crate) mod shadow;
pub(crate) mod shard;
pub(crate) mod singles;
pub(crate) mod unwritten;
