//! Input of the engine: records cut at page boundaries, blocks of records, and packets for other machines.

pub(crate) mod block;
pub(crate) mod decode;
pub(crate) mod packets;
pub(crate) mod phases;
pub(crate) mod record;
pub(crate) mod repeats;
pub(crate) mod walks;
