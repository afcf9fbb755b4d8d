//! Data that a CPU device object shares with its runtime: mirrors of `runtime/cpu/device/thread.h` (a test compares them) and of the tables
//! that the instrumenter emits.

use std::ffi::{c_char, c_void};

pub const WARP_LANES: u32 = 32;

/// The thread block: what a device function knows about the thread that runs.
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
    /// Number of the thread in its CTA.
    pub thread: u32,
    /// Where the next log entry goes; an entry is two words.
    pub log_cursor: *mut u64,
    pub log_end: *mut u64,
    /// Counters of the worker, one a site, indexed by the whole site id.
    pub site_counts: *mut u64,
    /// The dynamic shared memory of the CTA.
    pub dynamic_shared: *mut u8,
    pub dynamic_shared_bytes: u64,
    /// Where the log of each of the 32 lanes begins, for threads that run in a loop.
    pub log_starts: *mut u64,
}

impl SuperstepThread {
    pub const EMPTY: SuperstepThread = SuperstepThread {
        tid: [0; 3],
        ntid: [0; 3],
        ctaid: [0; 3],
        nctaid: [0; 3],
        lane: 0,
        warp: 0,
        sm: 0,
        thread: 0,
        log_cursor: std::ptr::null_mut(),
        log_end: std::ptr::null_mut(),
        site_counts: std::ptr::null_mut(),
        dynamic_shared: std::ptr::null_mut(),
        dynamic_shared_bytes: 0,
        log_starts: std::ptr::null_mut(),
    };
}

/// Bit 0 of [`CpuKernel::flags`]: the kernel has barriers, warp operations or indirect calls, so its threads must be fibers.
pub const KERNEL_NEEDS_FIBERS: u32 = 1;
/// Bit 1 of [`CpuKernel::flags`]: its loops do not say which thread runs, and its CTAs can be run again to find out.
pub const KERNEL_FORGETS_THREADS: u32 = 2;
/// Bit 2 of [`CpuKernel::flags`]: its CTAs wait for each other at the barrier of the grid.
pub const KERNEL_WAITS_FOR_GRID: u32 = 4;
/// Bit 3 of [`CpuKernel::flags`]: its CTAs run in clusters of several.
pub const KERNEL_IN_CLUSTERS: u32 = 8;

/// A kernel of a device module.
#[repr(C)]
#[derive(Debug)]
pub struct CpuKernel {
    /// Mangled name.
    pub name: *const c_char,
    /// Runs the kernel for the current thread; `args[i]` points to the value of parameter *i*.
    pub thunk: Option<unsafe extern "C" fn(args: *mut *mut c_void)>,
    pub parameters: u32,
    pub flags: u32,
    /// Shared memory that the kernel declares.
    pub static_shared_bytes: u64,
    /// Runs the kernel for a range of a CTA's threads from one barrier to the next; null when its threads cannot run in a loop.
    pub step: Option<Step>,
    /// Bytes that a CTA keeps between steps for each thread, whose number is rounded up to a multiple of [`FRAME_THREADS_UNIT`].
    pub frame_bytes: u64,
    /// As many as [`parameters`](Self::parameters) says.
    pub parameter_list: *const Parameter,
    /// The kernel itself: what launches from the device name it by.
    pub function: *const c_void,
    /// Most threads of a CTA; 0: the device's limit.
    pub most_threads: u64,
}

/// A parameter of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub bytes: u32,
    /// Offset in a block of all arguments, as launches from the device pass them.
    pub offset_bytes: u32,
}

/// Runs region `region` of a kernel (0: from its start) for the threads `first..last` of the current CTA, and returns the region that all
/// of them go on with, [`EXIT`] or [`DIVERGED`]. If `last` is not above `first`, the threads from `first` to the CTA's end run, then those
/// from 0 to `last`.
pub type Step = unsafe extern "C" fn(
    args: *mut *mut c_void,
    frame: *mut u8,
    region: u32,
    first: u32,
    last: u32,
) -> u32;

/// What a [`Step`] returns when its threads have ended.
pub const EXIT: u32 = u32::MAX;
/// What a [`Step`] returns when its threads go on with different regions: the frame begins with each thread's.
pub const DIVERGED: u32 = u32::MAX - 1;
/// The number of threads for which a frame has room is a multiple of this.
pub const FRAME_THREADS_UNIT: u32 = 64;

/// [`CpuGlobal::space`] of a `__device__` variable.
pub const SPACE_GLOBAL: u32 = 1;
/// [`CpuGlobal::space`] of a `__constant__` variable.
pub const SPACE_CONSTANT: u32 = 4;

/// A `__device__` or `__constant__` variable of a device module.
#[repr(C)]
#[derive(Debug)]
pub struct CpuGlobal {
    /// Device-side name.
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
    /// Index of the translation unit.
    pub module_index: u32,
    pub name: *const c_char,
    /// Address of the calling worker's thread block.
    pub thread_block: Option<unsafe extern "C" fn() -> *mut SuperstepThread>,
    pub kernel_count: u32,
    pub global_count: u32,
    pub kernels: *const CpuKernel,
    pub globals: *const CpuGlobal,
    /// The module table as JSON.
    pub table_json: *const c_char,
    pub table_json_bytes: u64,
}

/// Version of these structures.
pub const ABI_VERSION: u32 = 6;
