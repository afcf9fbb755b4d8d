//! Communication between CTAs through global memory, exact to the byte.
//!
//! `docs/metrics.md` defines every number. [`Engine`] receives host writes and launches in program order. Each launch's
//! accesses are cut into records at page boundaries and distributed to shards by page. Each shard handles its pages
//! independently: first it analyses the reads of all CTAs against the state before the launch, then it applies the
//! writes. The results do not depend on the number of threads or shards.

mod engine;
mod input;
mod output;
mod spill;
mod state;
#[cfg(test)]
mod tests;

pub use engine::{Engine, EngineEnd, Options};
pub(crate) use input::block::{BLOCK_RECORDS, Block, ShardCounts, recycle};
pub(crate) use input::decode::Decoded;
pub(crate) use input::packets::{Cutter, LaunchRecords, Packet, unpacked};
pub(crate) use input::record::{Record, WideAccesses};
pub use output::detail::{
    ArrayVolume, Footprint, SiteFlow, SiteFlowAmount, SiteFlowKey, WithinLaunch,
};
pub(crate) use output::loads::{Span, span_distances};
pub(crate) use output::part::{Sums, WidePart};
pub use output::strides::{LaunchStrides, StrideCounts};
pub(crate) use output::strides::{Run, add, distances};
pub use output::transfers::Transfers;
pub(crate) use output::volume::by_kernel;
pub use output::volume::{Communication, Flow, KernelVolume, LaunchVolume, Transfer, Volume};
pub(crate) use spill::file::{pack, unpack};
pub use spill::limit::MemoryLimit;
pub(crate) use spill::sorted::{Item, Sorted, Sorter};
pub use state::exact::Matching;
pub use state::unwritten::UnwrittenRead;
