//! The CUDA runtime's C types, as far as the interposer looks into them.

use std::ffi::{c_int, c_uint, c_void};
pub use superstep_runtime_core::cuda::{
    Copy3d, Dim3, Extent, LaunchConfig, PitchedPointer, Position,
};

/// `cudaError_t`.
pub type Error = c_int;
/// `cudaStream_t`.
pub type Stream = *mut c_void;
/// `cudaEvent_t`.
pub type Event = *mut c_void;
/// `cudaHostFn_t`.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

/// `cudaSuccess`.
pub const SUCCESS: Error = 0;
/// `cudaErrorMemoryAllocation`.
pub const MEMORY_ALLOCATION: Error = 2;
/// `cudaErrorInitializationError`: what CUDA answers in a fork of a process that has used it.
pub const INITIALIZATION_ERROR: Error = 3;
/// `cudaErrorCudartUnloading`: what CUDA answers when the process ends and CUDA's own exit handler has run.
pub const CUDART_UNLOADING: Error = 4;
/// `cudaErrorSharedObjectSymbolNotFound`: what a call answers when libcudart lacks the function.
pub const SYMBOL_NOT_FOUND: Error = 302;
/// `cudaErrorInvalidDeviceFunction`.
pub const INVALID_DEVICE_FUNCTION: Error = 98;
/// `cudaErrorNoKernelImageForDevice`.
pub const NO_KERNEL_IMAGE: Error = 209;
/// `cudaErrorSymbolNotFound`.
pub const NAMED_SYMBOL_NOT_FOUND: Error = 500;
/// `cudaErrorNotReady`.
pub const NOT_READY: Error = 600;
/// `cudaErrorNotSupported`: what a call answers that a traced program must not make.
pub const NOT_SUPPORTED: Error = 801;

/// `cudaStreamPerThread`.
pub const PER_THREAD_STREAM: usize = 2;

pub const HOST_ALLOC_MAPPED: c_uint = 1 | 2;
/// `cudaEventBlockingSync`.
pub const EVENT_BLOCKING: c_uint = 1;

/// `cudaMemcpyHostToHost`.
pub const HOST_TO_HOST: c_int = 0;
/// `cudaMemcpyHostToDevice`.
pub const HOST_TO_DEVICE: c_int = 1;
/// `cudaMemcpyDeviceToHost`.
pub const DEVICE_TO_HOST: c_int = 2;
/// `cudaMemcpyDeviceToDevice`.
pub const DEVICE_TO_DEVICE: c_int = 3;

/// `cudaDevAttrMultiProcessorCount`.
pub const ATTRIBUTE_SM_COUNT: c_int = 16;
/// `cudaDevAttrMaxThreadsPerMultiProcessor`.
pub const ATTRIBUTE_SM_THREADS: c_int = 39;
/// `cudaDevAttrMaxBlocksPerMultiprocessor`.
pub const ATTRIBUTE_SM_CTAS: c_int = 106;
/// `cudaDevAttrComputeCapabilityMajor`.
pub const ATTRIBUTE_CAPABILITY_MAJOR: c_int = 75;
/// `cudaDevAttrComputeCapabilityMinor`.
pub const ATTRIBUTE_CAPABILITY_MINOR: c_int = 76;

/// `cudaFuncAttributes`, of which only the first field is read; the rest is room for any version of the runtime.
#[repr(C)]
pub struct FunctionAttributes {
    pub static_shared_bytes: usize,
    pub rest: [u64; 63],
}

/// `cudaGraph_t`.
pub type Graph = *mut c_void;
/// `cudaGraphExec_t`.
pub type GraphExec = *mut c_void;
/// `cudaGraphNode_t`.
pub type GraphNode = *mut c_void;

/// `cudaStreamNonBlocking`.
pub const STREAM_NON_BLOCKING: c_uint = 1;
/// `cudaStreamCaptureModeRelaxed`.
pub const CAPTURE_RELAXED: c_int = 2;
/// `cudaStreamCaptureStatusActive`.
pub const CAPTURE_ACTIVE: c_int = 1;
/// `cudaGraphNodeTypeKernel`.
pub const NODE_KERNEL: c_int = 0;
/// `cudaGraphNodeTypeMemcpy`.
pub const NODE_COPY: c_int = 1;
/// `cudaGraphNodeTypeMemset`.
pub const NODE_FILL: c_int = 2;
/// `cudaGraphNodeTypeHost`.
pub const NODE_HOST: c_int = 3;
/// `cudaGraphNodeTypeGraph`.
pub const NODE_GRAPH: c_int = 4;
/// `cudaGraphNodeTypeEmpty`.
pub const NODE_EMPTY: c_int = 5;
/// `cudaGraphNodeTypeWaitEvent`.
pub const NODE_WAIT: c_int = 6;
/// `cudaGraphNodeTypeEventRecord`.
pub const NODE_RECORD: c_int = 7;
/// `cudaGraphNodeTypeConditional`.
pub const NODE_CONDITIONAL: c_int = 13;
/// `cudaGraphInstantiateFlagDeviceLaunch`.
pub const GRAPH_DEVICE_LAUNCH: u64 = 4;

/// `cudaErrorLaunchOutOfResources`.
pub const LAUNCH_OUT_OF_RESOURCES: Error = 701;
/// `cudaErrorCooperativeLaunchTooLarge`.
pub const COOPERATIVE_LAUNCH_TOO_LARGE: Error = 720;

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelNodeParameters {
    pub function: *mut c_void,
    pub grid: Dim3,
    pub block: Dim3,
    /// Dynamic shared memory of a CTA.
    pub shared_bytes: c_uint,
    /// One pointer for each argument.
    pub arguments: *mut *mut c_void,
    /// Arguments in one block, instead.
    pub extra: *mut *mut c_void,
}

/// `cudaGraphNodeParams`.
#[repr(C)]
pub struct NodeParameters {
    /// `cudaGraphNodeType`.
    pub kind: c_int,
    reserved: [c_int; 3],
    /// The kernel's parameters, the child graph, or something else.
    pub of_kind: [u64; 29],
}

/// `cudaGraphInstantiateParams`.
#[repr(C)]
pub struct InstantiateParameters {
    pub flags: u64,
}

/// `cudaMemsetParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemsetParameters {
    pub to: *mut c_void,
    /// Bytes from one row to the next.
    pub pitch: usize,
    pub value: c_uint,
    /// 1, 2 or 4 bytes.
    pub element_bytes: c_uint,
    /// Elements of a row.
    pub width: usize,
    pub height: usize,
}

/// `cudaGraphExecUpdateResultInfo`.
#[repr(C)]
pub struct UpdateResult {
    pub result: c_int,
    pub nodes: [GraphNode; 2],
}

/// `cudaHostNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostNodeParameters {
    pub function: HostFunction,
    pub data: *mut c_void,
}
