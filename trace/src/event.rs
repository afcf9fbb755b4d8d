//! What the host side of a traced program did, in order.

use crate::{AllocationId, LaunchId, Recorded, StreamId};
use serde::{Deserialize, Serialize};

/// One execution of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Position among all of the program's numbered events (launches, allocations, frees, copies, memsets).
    pub sequence: u64,
    /// Stream it was queued in.
    pub stream: StreamId,
    /// Superstep: number within the stream, from 0.
    pub launch: LaunchId,
    /// Mangled name of the kernel.
    pub kernel: String,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// Shared memory of a CTA asked for at launch.
    pub dynamic_shared_bytes: u64,
    /// Shared memory of a CTA that the kernel declares.
    pub static_shared_bytes: u64,
}

impl Launch {
    pub fn ctas(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    pub fn threads_per_cta(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
    }

    /// Coordinates x, y, z of the CTA with linear number `cta`.
    pub fn cta_coordinates(&self, cta: u32) -> [u32; 3] {
        let (x, y) = (self.grid[0].max(1), self.grid[1].max(1));
        [cta % x, cta / x % y, cta / x / y]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchOutcome {
    /// The kernel ran to its end.
    Completed,
    /// It stopped; the text says why.
    Failed(String),
}

/// What kind of memory an allocation is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocationKind {
    /// `cudaMalloc` and its relatives.
    Device,
    /// `cudaMallocManaged`.
    Managed,
    /// Page-locked host memory that the device can reach.
    Pinned,
    /// `cudaMallocArray` and `cudaMalloc3DArray`.
    Array,
    /// A `__device__` or `__constant__` variable.
    Symbol {
        /// Its device-side name.
        name: String,
    },
}

/// A line of the host's source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourcePlace {
    /// File, as the compiler's debug information names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 where it is not known.
    #[serde(default)]
    pub column: u32,
}

impl std::fmt::Display for SourcePlace {
    /// The file's name without its folder, and the line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        write!(f, "{name}:{}", self.line)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyDirection {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

/// An event of the host side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A kernel is about to run; written before its first access.
    Launch(Launch),
    /// A launch ended and all of its accesses are written.
    LaunchEnd {
        stream: StreamId,
        launch: LaunchId,
        /// Accesses recorded, each lane counted.
        thread_accesses: u64,
        elapsed_ns: u64,
        outcome: LaunchOutcome,
    },
    /// Of the launch just announced only a part is recorded, as the run was asked to; follows its [`Event::Launch`].
    Selected {
        stream: StreamId,
        launch: LaunchId,
        recorded: Recorded,
    },
    Allocate {
        /// Position among the numbered events.
        sequence: u64,
        id: AllocationId,
        address: u64,
        bytes: u64,
        kind: AllocationKind,
        /// The host's call that made it, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<SourcePlace>,
    },
    Free {
        /// Position among the numbered events.
        sequence: u64,
        id: AllocationId,
    },
    /// The host copied memory. Addresses are the program's own.
    Copy {
        /// Position among the numbered events.
        sequence: u64,
        direction: CopyDirection,
        destination: u64,
        source: u64,
        bytes: u64,
        /// Stream the copy was queued in.
        stream: StreamId,
    },
    Memset {
        /// Position among the numbered events.
        sequence: u64,
        address: u64,
        bytes: u64,
        value: u8,
        /// Stream the operation was queued in.
        stream: StreamId,
    },
    /// Anything worth keeping, in words.
    Note(String),
}

impl Event {
    /// Position among the numbered events, for those that have one.
    pub fn sequence(&self) -> Option<u64> {
        match self {
            Event::Launch(launch) => Some(launch.sequence),
            Event::Allocate { sequence, .. }
            | Event::Free { sequence, .. }
            | Event::Copy { sequence, .. }
            | Event::Memset { sequence, .. } => Some(*sequence),
            Event::LaunchEnd { .. } | Event::Selected { .. } | Event::Note(_) => None,
        }
    }
}

/// An event as it is stored: one more member beside the event's own says when it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TimedEvent<E> {
    /// Nanoseconds since the program's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    #[serde(flatten)]
    pub event: E,
}
