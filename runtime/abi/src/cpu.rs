//! Data that a CPU device object shares with its runtime: mirrors of `runtime/cpu/device/thread.h` (a test compares
//! them) and of the tables that the instrumenter emits.

use std::ffi::{c_char, c_void};

pub const WARP_LANES: u32 = 32;

/// State of the running thread, read by device functions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SuperstepThread {
    /// `threadIdx`.
    pub tid: [u32; 3],
    /// `blockDim`.
    pub ntid: [u32; 3],
    /// `blockIdx`.
    pub ctaid: [u32; 3],
    /// `gridDim`.
    pub nctaid: [u32; 3],
    pub lane: u32,
    pub warp: u32,
    pub sm: u32,
    /// Index of the thread within its CTA.
    pub thread: u32,
    /// Address of the next log entry, which is two words long.
    pub log_cursor: *mut u64,
    pub log_end: *mut u64,
    /// The worker's counters, by site ID.
    pub site_counts: *mut u64,
    pub dynamic_shared: *mut u8,
    pub dynamic_shared_bytes: u64,
    /// Starts of the 32 lanes' logs, for threads that run in a loop.
    pub log_starts: *mut u64,
}

impl SuperstepThread {
    // SAFETY: all fields are integers or raw pointers, for which zero is valid.
    pub const EMPTY: SuperstepThread = unsafe { std::mem::zeroed() };
}

/// Flag of a kernel whose loops do not record the running thread; its CTAs can be rerun to find it.
pub const KERNEL_FORGETS_THREADS: u32 = 2;
/// Flag of a kernel whose CTAs wait for each other at a grid-wide barrier.
pub const KERNEL_WAITS_FOR_GRID: u32 = 4;
/// Flag of a kernel whose CTAs run in clusters.
pub const KERNEL_IN_CLUSTERS: u32 = 8;

#[repr(C)]
#[derive(Debug)]
pub struct CpuKernel {
    pub name: *const c_char,
    /// Runs the kernel for the current thread; `args[i]` points to the value of parameter *i*.
    pub thunk: Option<unsafe extern "C" fn(args: *mut *mut c_void)>,
    pub parameters: u32,
    pub flags: u32,
    pub static_shared_bytes: u64,
    /// Runs a range of a CTA's threads from one barrier to the next; null if its threads must be fibers.
    pub step: Option<Step>,
    /// Bytes that a CTA keeps between steps for each thread; the number of threads is rounded up to a multiple of
    /// [`FRAME_THREADS_UNIT`].
    pub frame_bytes: u64,
    pub parameter_list: *const Parameter,
    /// Address of the kernel, which identifies it in device-side launches.
    pub function: *const c_void,
    /// Maximum number of threads per CTA; 0 means the device's limit.
    pub most_threads: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub bytes: u32,
    /// Offset in the argument block of a device-side launch.
    pub offset_bytes: u32,
}

/// Runs region `region` of a kernel (0: from its start) for the threads `first..last` of the current CTA. Returns
/// [`EXIT`], [`DIVERGED`], or the region in which all these threads continue. If `last <= first`, runs the threads from
/// `first` to the end of the CTA, then those from 0 to `last`.
pub type Step = unsafe extern "C" fn(
    args: *mut *mut c_void,
    frame: *mut u8,
    region: u32,
    first: u32,
    last: u32,
) -> u32;

/// Result of a [`Step`] after which all threads have exited.
pub const EXIT: u32 = u32::MAX;
/// Result of a [`Step`] after which threads continue in different regions; the frame begins with each thread's region.
pub const DIVERGED: u32 = u32::MAX - 1;
/// Granularity of a frame's capacity, in threads.
pub const FRAME_THREADS_UNIT: u32 = 64;

/// Values of [`CpuGlobal::space`] for `__device__` and `__constant__` variables.
pub const SPACE_GLOBAL: u32 = 1;
pub const SPACE_CONSTANT: u32 = 4;

/// A `__device__` or `__constant__` variable in a device module.
#[repr(C)]
#[derive(Debug)]
pub struct CpuGlobal {
    pub name: *const c_char,
    pub address: *mut c_void,
    pub bytes: u64,
    pub space: u32,
    pub pad: u32,
}

/// Argument of `__superstep_register_cpu_module`, which a device object calls when the program starts.
#[repr(C)]
#[derive(Debug)]
pub struct CpuModule {
    pub abi_version: u32,
    pub module_index: u32,
    pub name: *const c_char,
    /// Returns the calling worker's thread state.
    pub thread_block: Option<unsafe extern "C" fn() -> *mut SuperstepThread>,
    pub kernel_count: u32,
    pub global_count: u32,
    pub kernels: *const CpuKernel,
    pub globals: *const CpuGlobal,
    pub table_json: *const c_char,
    pub table_json_bytes: u64,
}

/// Version of these structures.
pub const ABI_VERSION: u32 = 6;
