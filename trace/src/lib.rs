//! Superstep's data: a traced program's accesses to global memory, and the files that contain them.
//!
//! A *capture* is a folder with `events.sst` (header, site tables, launches, allocations, copies) and one
//! `stream-<n>.sst` for each CUDA stream (access groups). [`CaptureWriter`] writes it, and [`Capture`] reads it;
//! `docs/trace-format.md` describes every byte. [`digest`] condenses a launch to 128 bits that do not depend on order,
//! and [`memtrace_v1`] exchanges accesses in the format of Rieber 2017.
//!
//! ```
//! use superstep_trace::*;
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let capture = CaptureWriter::create(folder, &Header::new(Backend::Cpu))?;
//! capture.event(&Event::Launch(Launch {
//!     sequence: 0,
//!     stream: StreamId(0),
//!     launch: LaunchId(0),
//!     kernel: "_Z4copyPfS_".into(),
//!     grid: [1, 1, 1],
//!     block: [32, 1, 1],
//!     dynamic_shared_bytes: 0,
//!     static_shared_bytes: 0,
//!     parent: None,
//!     device: 0,
//! }))?;
//! let mut chunk = ChunkBuilder::new(LaunchId(0));
//! let mut group = AccessGroup { mask: 0b11, width_bytes: 4, ..AccessGroup::EMPTY };
//! group.addresses[..2].copy_from_slice(&[4096, 4100]);
//! chunk.push(&group);
//! capture.stream(StreamId(0))?.flush(&mut chunk)?;
//! capture.finish(&Outcome::Finished)?;
//!
//! let capture = Capture::open(folder)?;
//! assert!(capture.complete);
//! let mut bytes = 0;
//! capture.groups(|_launch, group| {
//!     bytes += group.lanes() * group.width_bytes as usize;
//! })?;
//! assert_eq!(bytes, 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cancellation;
mod capture;
mod codec;
mod container;
mod error;
pub mod explanation;
mod in_situ;
pub mod memtrace_v1;
mod named;
pub mod probe;
mod program;
mod run;
mod selection;
mod varint;

pub use cancellation::{Cancellation, Progress};
pub use capture::builder::ChunkBuilder;
pub use capture::digest::{self, LaunchDigest};
pub use capture::header::{DeviceInfo, Header, Outcome};
pub use capture::names::{ArrayName, Names};
pub use capture::writer::{
    CaptureWriter, EVENTS_FILE, StreamWriter, end_capture, stream_file_name,
};
pub use capture::{Capture, ChunkRef, GroupBuffer, HostEvent, LaunchRecord};
pub use codec::Offsets;
pub use container::{FORMAT_VERSION, MAGIC, SealedChunk};
pub use error::TraceError;
pub use in_situ::cta_blocks::CtaBlocks;
pub use in_situ::{Bounds, FirstRead, LaunchSums, LoadedBytes, Parts, Received, Tally};
pub use named::UnknownName;
pub use probe::{DefinedProbe, PointSite, ProbeResults, ProbeSpec, ProbeWriter};
pub use program::access::{AccessGroup, WARP_LANES};
pub use program::allocations::{
    Allocation, AllocationKey, AllocationMap, DEVICE_HEAP, DEVICE_PAGE_BYTES, Resolver,
};
pub use program::event::{
    AllocationKind, Block, CopyDirection, Event, Gap, HostCopy, HostMemset, KnownCall, Launch,
    LaunchEnd, LaunchOutcome, OpaqueEnd, OpaqueGeometry, OpaqueLaunch, SourcePlace, TimedEvent,
    Transport,
};
pub use program::ids::{AllocationId, LaunchId, SiteId, StreamId};
pub use program::matrix;
pub use program::names::display_name;
pub use program::op::Op;
pub use program::process::{Process, captures_in};
pub use program::table::{
    Backend, KernelInfo, ModuleTable, Probe, Proof, Site, SiteTable, TABLE_SCHEMA_VERSION,
};
pub use run::failure::{Failure, FailureKind};
pub use run::journal::{Journal, Note};
pub use run::protocol::Protocol;
pub use run::reproducibility::Reproducibility;
pub use run::summary::{
    KernelResources, KernelTotals, LaunchCounts, SUMMARY_SCHEMA_VERSION, Summary,
};
pub use selection::pattern::Pattern;
pub use selection::{
    Chooser, CtaRange, MIN_SAMPLED, Recorded, Sample, SampleUnit, Selection, SelectionError,
};

/// Returns whether serde should omit a field.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
