//! Accesses on their way in: records cut at page borders, blocks of them, and packets for other machines.

pub(crate) mod block;
pub(crate) mod packets;
pub(crate) mod record;
