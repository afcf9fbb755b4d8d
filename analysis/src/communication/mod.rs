//! Communication between CTAs through global memory, exact to the byte.
//!
//! `docs/metrics.md` defines every number. [`Engine`] takes host writes and launches in the program's order; each
//! launch's accesses are cut into records at page borders, spread over shards by page, and each shard handles its
//! pages alone: first the reads of all CTAs against the state before the launch, then the writes. The results do not
//! depend on the number of threads or shards.

mod bitmap;
mod block;
mod detail;
mod engine;
mod exact;
mod host;
#[cfg(test)]
mod in_situ_tests;
mod kept;
mod large;
mod limit;
mod local;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod oracle_tests;
mod packets;
mod part;
mod reader;
mod record;
mod shadow;
mod shadow_file;
mod shard;
mod singles;
mod sorted;
mod spill;
mod strides;
mod sums;
mod transfers;
mod unwritten;
mod volume;

pub(crate) use block::{BLOCK_RECORDS, Block};
pub use detail::{ArrayVolume, Footprint, SiteVolume};
pub use engine::{Engine, Options};
pub use exact::Matching;
pub use limit::MemoryLimit;
pub(crate) use packets::{Cutter, OfLaunch, Packet, unpacked};
pub(crate) use part::{Sums, WidePart};
pub(crate) use record::{Record, WideAccesses};
pub(crate) use sorted::{Item, Sorted, Sorter};
pub(crate) use spill::{SpillFolder, pack, unpack};
pub use strides::{LaunchStrides, StrideCounts};
pub(crate) use strides::{Run, add, distances};
pub(crate) use transfers::TransferSorter;
pub use transfers::Transfers;
pub use unwritten::UnwrittenRead;
pub use volume::{Communication, Flow, KernelVolume, LaunchVolume, Transfer, Volume};
