//! The data of Superstep: what a traced program did to global memory, and how that is stored.
//!
//! A *capture* is a folder with `events.sst` (header, site tables, launches, allocations, copies) and one
//! `stream-<n>.sst` for each CUDA stream (access groups). [`CaptureWriter`] writes it, [`Capture`] reads it;
//! `docs/trace-format.md` gives every byte. [`digest`] condenses a launch to 128 bits that do not depend on order,
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
//! capture.stream(StreamId(0))?.write(chunk)?;
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

mod access;
mod allocations;
mod builder;
mod cancellation;
mod capture;
mod codec;
mod container;
mod cta_blocks;
pub mod digest;
mod error;
mod event;
mod failure;
mod header;
mod ids;
mod in_situ;
mod journal;
pub mod matrix;
pub mod memtrace_v1;
mod named;
mod names;
mod op;
mod parts;
mod pattern;
pub mod probe;
mod process;
mod protocol;
mod reproducibility;
mod selection;
mod summary;
mod table;
mod varint;
mod writer;

pub use access::{AccessGroup, WARP_LANES};
pub use allocations::{
    Allocation, AllocationKey, AllocationMap, DEVICE_HEAP, DEVICE_PAGE_BYTES, Resolver,
};
pub use builder::{ChunkBuilder, TARGET_CHUNK_BYTES};
pub use cancellation::{Cancellation, Progress};
pub use capture::{Capture, ChunkRef, GroupBuffer, HostEvent, LaunchRecord, Replay};
pub use codec::Offsets;
pub use container::{FORMAT_VERSION, MAGIC, SealedChunk};
pub use cta_blocks::CtaBlocks;
pub use digest::LaunchDigest;
pub use error::{JournalError, TraceError};
pub use event::{
    AllocationKind, Block, CopyDirection, Event, Gap, HostCopy, HostMemset, KnownCall, Launch,
    LaunchEnd, LaunchOutcome, OpaqueEnd, OpaqueGeometry, OpaqueLaunch, SourcePlace, TimedEvent,
    Transport,
};
pub use failure::{Failure, FailureKind};
pub use header::{DeviceInfo, Header, Outcome};
pub use ids::{AllocationId, LaunchId, SiteId, StreamId};
pub use in_situ::{Bounds, FirstRead, LaunchSums, LoadedBytes, Parts, Received, Tally};
pub use journal::Journal;
pub use named::UnknownName;
pub use names::display_name;
pub use op::Op;
pub use parts::SealedParts;
pub use pattern::Pattern;
pub use probe::{DefinedProbe, PointSite, ProbeResults, ProbeSpec, ProbeWriter};
pub use process::{Process, captures_in};
pub use protocol::Protocol;
pub use reproducibility::Reproducibility;
pub use selection::{
    Chooser, CtaRange, Recorded, SAMPLE_AT_LEAST, Sample, SampleUnit, Selection, SelectionError,
};
pub use summary::{KernelResources, KernelTotals, LaunchCounts, SUMMARY_SCHEMA_VERSION, Summary};
pub use table::{
    Backend, KernelInfo, ModuleTable, Probe, Proof, Site, SiteTable, TABLE_SCHEMA_VERSION,
};
pub use writer::{CaptureWriter, EVENTS_FILE, StreamWriter, end_capture, stream_file_name};
