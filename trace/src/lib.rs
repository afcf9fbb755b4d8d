//! The data of Superstep: what a traced program did to global memory, and how that is stored.
//!
//! A *capture* is a folder with `events.sst` (header, site tables, launches, allocations, copies) and one
//! `stream-<n>.sst` for each CUDA stream (access groups).

mod access;
mod error;
mod event;
mod header;
mod ids;
mod op;
mod table;

pub use access::{AccessGroup, WARP_LANES};
pub use error::TraceError;
pub use event::{AllocationKind, CopyDirection, Event, Launch, LaunchOutcome};
pub use header::{DeviceInfo, Header, Outcome};
pub use ids::{AllocationId, LaunchId, SiteId, StreamId};
pub use op::Op;
pub use table::{Backend, KernelInfo, ModuleTable, Probe, Proof, Site, SiteTable, TABLE_SCHEMA_VERSION};
