//! Events on the host side of a traced program.

use crate::{Allocation, AllocationId, LaunchId, LaunchSums, Recorded, StreamId};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// Position among the program's numbered events (launches, allocations, frees, copies, memsets).
    pub sequence: u64,
    pub stream: StreamId,
    /// The superstep: the launch's index within its stream, from 0.
    pub launch: LaunchId,
    pub kernel: String,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads per CTA in x, y and z.
    pub block: [u32; 3],
    /// Shared memory per CTA that the launch requests.
    pub dynamic_shared_bytes: u64,
    /// Shared memory per CTA that the kernel declares.
    pub static_shared_bytes: u64,
    /// `sequence` of the launch whose kernel launched this one; `None` if the host did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// Index of the device on which it ran.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub device: u32,
}

impl Launch {
    pub fn ctas(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    pub fn threads_per_cta(&self) -> u64 {
        self.block.iter().map(|&n| u64::from(n)).product()
    }

    /// Returns the coordinates x, y and z of the CTA with linear index `cta`.
    pub fn cta_coordinates(&self, cta: u32) -> [u32; 3] {
        let (x, y) = (self.grid[0].max(1), self.grid[1].max(1));
        [cta % x, cta / x % y, cta / x / y]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchOutcome {
    Completed,
    /// The launch failed, for the given reason.
    Failed(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocationKind {
    /// `cudaMalloc` and related functions.
    #[default]
    Device,
    Managed,
    /// Page-locked host memory that the device can access.
    Pinned,
    /// `cudaMallocArray` and `cudaMalloc3DArray`.
    Array,
    /// Memory of another process, mapped into this one.
    Imported,
    /// A `__device__` or `__constant__` variable.
    Symbol {
        /// Its device-side name.
        name: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourcePlace {
    /// File name in the compiler's debug information.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
}

impl std::fmt::Display for SourcePlace {
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

/// End of a launch, written after all of its accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchEnd {
    pub stream: StreamId,
    pub launch: LaunchId,
    /// Accesses recorded, counting each lane.
    pub thread_accesses: u64,
    pub elapsed_ns: u64,
    pub outcome: LaunchOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCopy {
    pub sequence: u64,
    pub direction: CopyDirection,
    /// First byte written.
    pub destination: u64,
    pub source: u64,
    pub bytes: u64,
    pub stream: StreamId,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMemset {
    pub sequence: u64,
    pub address: u64,
    pub bytes: u64,
    pub value: u8,
    pub stream: StreamId,
}

/// Launch of device code that Superstep did not build. Unless `call` is set, its accesses are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueLaunch {
    pub sequence: u64,
    pub stream: StreamId,
    /// Mangled name of the kernel; `None` if unknown, or if it was not a single kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Size of the launch; `None` if it was not a single kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<OpaqueGeometry>,
    /// The call that launched it, if its reads and writes are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<KnownCall>,
}

/// A call to a function in a proprietary library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownCall {
    pub function: String,
    pub reads: Vec<Block>,
    /// Memory that the call might write; it writes nothing else.
    pub writes: Vec<Block>,
}

/// A block of memory: `planes` planes of `rows` rows of `bytes` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub address: u64,
    pub bytes: u64,
    pub rows: u64,
    /// Distance between the starts of adjacent rows.
    pub row_pitch: u64,
    pub planes: u64,
    pub plane_pitch: u64,
}

impl Block {
    /// Returns the address and size of each row; adjacent rows are merged.
    pub fn ranges(self) -> impl Iterator<Item = (u64, u64)> {
        let (mut bytes, mut rows, mut planes) = (self.bytes, self.rows, self.planes);
        if rows > 0 && self.row_pitch == bytes {
            (bytes, rows) = (bytes.saturating_mul(rows), 1);
        }
        if rows == 1 && planes > 0 && self.plane_pitch == bytes {
            (bytes, planes) = (bytes.saturating_mul(planes), 1);
        }
        (0..planes).flat_map(move |plane| {
            let start = self
                .address
                .wrapping_add(plane.wrapping_mul(self.plane_pitch));
            (0..rows).map(move |row| (start.wrapping_add(row.wrapping_mul(self.row_pitch)), bytes))
        })
    }
}

impl OpaqueLaunch {
    /// Name for launches without a kernel name.
    pub const UNNAMED: &str = "unnamed GPU code";

    pub fn name(&self) -> &str {
        self.kernel.as_deref().unwrap_or(Self::UNNAMED)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueGeometry {
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads per CTA in x, y and z.
    pub block: [u32; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueEnd {
    /// Sequence number of its [`OpaqueLaunch`].
    pub launch: u64,
    pub elapsed_ns: u64,
}

/// A memory operation of the program that is missing from the capture.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// A 3D copy from or to an array.
    ArrayCopy,
    /// Unrecorded copies or fills in a CUDA graph.
    GraphMemoryNode,
    /// Memory that is shared with another process; the event is written once.
    SharedMemory,
    /// Launches of a kernel without instrumentation; the event is written once for each kernel.
    UntracedKernel {
        /// Mangled name; `None` if the kernel's handle was unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kernel: Option<String>,
    },
}

impl std::fmt::Display for Gap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Gap::ArrayCopy => {
                f.write_str("a 3D copy from or to an array; its bytes are not among the copies")
            }
            Gap::GraphMemoryNode => {
                f.write_str("a memory node in a CUDA graph; its bytes are not among the copies")
            }
            Gap::SharedMemory => f.write_str(
                "memory is shared with another process, whose reads and writes are not matched",
            ),
            Gap::UntracedKernel { kernel: Some(name) } => write!(
                f,
                "kernel {name} was not built by Superstep; its accesses are not traced"
            ),
            Gap::UntracedKernel { kernel: None } => f.write_str(
                "a kernel was launched through an unknown handle; its accesses are not traced",
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    pub bytes: u64,
    pub pieces: u64,
    pub groups: u64,
    /// Accesses, counting each lane.
    pub accesses: u64,
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "protocol stream: {} bytes in {} pieces, {} groups, {} accesses",
            self.bytes, self.pieces, self.groups, self.accesses
        )
    }
}

/// A stored host-side event. [`crate::Capture::replay`] returns events in host order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A kernel is about to run; written before its first access.
    Launch(Launch),
    LaunchEnd(LaunchEnd),
    /// Only the selected part of the launch is recorded; follows its [`Event::Launch`].
    Selected {
        stream: StreamId,
        launch: LaunchId,
        recorded: Recorded,
    },
    Allocate(Allocation),
    Free {
        sequence: u64,
        id: AllocationId,
    },
    Copy(HostCopy),
    Memset(HostMemset),
    OpaqueLaunch(OpaqueLaunch),
    OpaqueEnd(OpaqueEnd),
    Gap(Gap),
    Transport(Transport),
    /// Sums of a launch, aggregated while it ran; its accesses are not recorded.
    Sums(LaunchSums),
    /// A message for human readers; no program depends on its text.
    Note(String),
}

impl Event {
    /// Returns the event's position among the numbered events, if it has one.
    pub(crate) fn sequence(&self) -> Option<u64> {
        match self {
            Event::Launch(Launch { sequence, .. })
            | Event::Allocate(Allocation { sequence, .. })
            | Event::Free { sequence, .. }
            | Event::Copy(HostCopy { sequence, .. })
            | Event::Memset(HostMemset { sequence, .. })
            | Event::OpaqueLaunch(OpaqueLaunch { sequence, .. }) => Some(*sequence),
            Event::LaunchEnd(_)
            | Event::OpaqueEnd(_)
            | Event::Selected { .. }
            | Event::Gap(_)
            | Event::Transport(_)
            | Event::Sums(_)
            | Event::Note(_) => None,
        }
    }
}

/// An event and the time at which it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedEvent<E> {
    /// Nanoseconds since the program's start; `None` if the writer had no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    #[serde(flatten)]
    pub event: E,
}
