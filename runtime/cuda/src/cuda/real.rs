//! The real libcudart behind this library.

use crate::cuda::ffi::{
    self, Dim3, Error, Event, FunctionAttributes, Graph, GraphExec, GraphNode, HostFunction,
    HostNodeParameters, KernelNodeParameters, MemsetParameters, NodeParameters, Stream,
};
use crate::cuda::symbols;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the real runtime or of the driver, looked up when first called.
pub struct Entry {
    name: &'static CStr,
    find: fn(&CStr) -> Option<*mut c_void>,
    address: AtomicPtr<c_void>,
}

/// Marks an [`Entry`] that its library does not have.
fn missing() -> *mut c_void {
    std::ptr::without_provenance_mut(usize::MAX)
}

impl Entry {
    /// The runtime's function of this name.
    pub const fn new(name: &'static CStr) -> Self {
        Self::found_by(name, |name| {
            let address = look_up(name);
            if address.is_none() {
                eprintln!(
                    "superstep: libcudart has no {}; link the program against the shared libcudart.so.12, after libsuperstep_cuda.so",
                    name.to_string_lossy()
                );
            }
            address
        })
    }

    pub const fn found_by(name: &'static CStr, find: fn(&CStr) -> Option<*mut c_void>) -> Self {
        let address = AtomicPtr::new(std::ptr::null_mut());
        Entry {
            name,
            find,
            address,
        }
    }

    /// Its address; `None`, after one message of the runtime's, when there is no such function.
    pub fn address(&self) -> Option<*mut c_void> {
        let mut address = self.address.load(Ordering::Relaxed);
        if address.is_null() {
            address = (self.find)(self.name).unwrap_or_else(missing);
            self.address.store(address, Ordering::Relaxed);
        }
        (address != missing()).then_some(address)
    }
}

/// The next library that defines `name`; when the program links none, the libcudart that the loader finds.
fn look_up(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero byte.
    let next = unsafe { symbols::real()(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    let library = *LIBRARY.get_or_init(|| {
        let names = [c"libcudart.so.12", c"libcudart.so.13", c"libcudart.so"];
        let open = |name: &CStr| {
            // SAFETY: the name ends with a zero byte; loading libcudart has no effect beyond its own initialisation.
            unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) as usize }
        };
        names
            .iter()
            .map(|name| open(name))
            .find(|&handle| handle != 0)
            .unwrap_or(0)
    });
    symbol_in(library, name)
}

/// The symbol `name` of a library that `dlopen` gave and that is never closed; 0 stands for none.
pub fn symbol_in(library: usize, name: &CStr) -> Option<*mut c_void> {
    if library == 0 {
        return None;
    }
    // SAFETY: the handle came from `dlopen` and is never closed; the name ends with a zero byte.
    let found = unsafe { symbols::real()(library as *mut c_void, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Calls the function in `$entry` with the given types.
macro_rules! call {
    ($entry:expr, ($($argument:expr => $type:ty),*) -> $result:ty, $otherwise:expr) => {
        match $entry.address() {
            Some(address) => {
                // SAFETY: the C interface of the CUDA runtime gives the function of this name this type.
                let function = unsafe {
                    std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $result>(address)
                };
                // SAFETY: the caller passes on what the C interface asks for.
                unsafe { function($($argument),*) }
            }
            None => $otherwise,
        }
    };
}
pub(crate) use call;

macro_rules! real {
    ($($(#[$doc:meta])* fn $name:ident as $export:literal($($argument:ident: $type:ty),*);)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As for the function of the CUDA runtime.
            #[allow(clippy::too_many_arguments, reason = "the C interface")]
            pub unsafe fn $name($($argument: $type),*) -> Error {
                static ENTRY: Entry = Entry::new($export);
                call!(ENTRY, ($($argument => $type),*) -> Error, ffi::SYMBOL_NOT_FOUND)
            }
        )*
    };
}

real! {
    fn malloc as c"cudaMalloc"(pointer: *mut *mut c_void, bytes: usize);
    fn free as c"cudaFree"(pointer: *mut c_void);
    fn memory_info as c"cudaMemGetInfo"(free: *mut usize, total: *mut usize);
    fn host_alloc as c"cudaHostAlloc"(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    fn free_host as c"cudaFreeHost"(pointer: *mut c_void);
    fn host_device_pointer as c"cudaHostGetDevicePointer"(device: *mut *mut c_void, host: *mut c_void, flags: c_uint);
    fn memcpy_async as c"cudaMemcpyAsync"(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int, stream: Stream);
    fn memset_async as c"cudaMemsetAsync"(to: *mut c_void, value: c_int, bytes: usize, stream: Stream);
    fn stream_create as c"cudaStreamCreateWithFlags"(stream: *mut Stream, flags: c_uint);
    fn stream_synchronize as c"cudaStreamSynchronize"(stream: Stream);
    fn stream_destroy as c"cudaStreamDestroy"(stream: Stream);
    fn launch_kernel as c"cudaLaunchKernel"(
        function: *const c_void, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared_bytes: usize, stream: Stream
    );
    fn launch_host_function as c"cudaLaunchHostFunc"(stream: Stream, function: HostFunction, data: *mut c_void);
    fn event_create as c"cudaEventCreateWithFlags"(event: *mut Event, flags: c_uint);
    fn event_record as c"cudaEventRecord"(event: Event, stream: Stream);
    fn event_query as c"cudaEventQuery"(event: Event);
    fn event_synchronize as c"cudaEventSynchronize"(event: Event);
    fn event_elapsed as c"cudaEventElapsedTime"(milliseconds: *mut f32, start: Event, end: Event);
    fn device_get_limit as c"cudaDeviceGetLimit"(value: *mut usize, limit: c_int);
    fn get_device as c"cudaGetDevice"(device: *mut c_int);
    fn set_device as c"cudaSetDevice"(device: c_int);
    fn device_attribute as c"cudaDeviceGetAttribute"(value: *mut c_int, attribute: c_int, device: c_int);
    /// Version of CUDA that the driver offers, 1000 * major + 10 * minor.
    fn driver_version as c"cudaDriverGetVersion"(version: *mut c_int);
    fn function_attributes as c"cudaFuncGetAttributes"(attributes: *mut FunctionAttributes, function: *const c_void);
    fn symbol_address as c"cudaGetSymbolAddress"(pointer: *mut *mut c_void, symbol: *const c_void);
    fn occupancy as c"cudaOccupancyMaxActiveBlocksPerMultiprocessor"(ctas: *mut c_int, function: *const c_void, threads: c_int, shared_bytes: usize);
    fn stream_wait_event as c"cudaStreamWaitEvent"(stream: Stream, event: Event, flags: c_uint);
    fn capture_info as c"cudaStreamGetCaptureInfo_v2"(
        stream: Stream, status: *mut c_int, id: *mut u64, graph: *mut Graph, dependencies: *mut *const GraphNode, count: *mut usize
    );
    fn exchange_capture_mode as c"cudaThreadExchangeStreamCaptureMode"(mode: *mut c_int);
    fn graph_add_kernel as c"cudaGraphAddKernelNode"(
        node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: *const KernelNodeParameters
    );
    fn graph_add_memset as c"cudaGraphAddMemsetNode"(
        node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: *const MemsetParameters
    );
    fn graph_add_memcpy as c"cudaGraphAddMemcpyNode1D"(
        node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, to: *mut c_void, from: *const c_void,
        bytes: usize, kind: c_int
    );
    fn graph_add_host as c"cudaGraphAddHostNode"(
        node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: *const HostNodeParameters
    );
    fn graph_create as c"cudaGraphCreate"(graph: *mut Graph, flags: c_uint);
    fn graph_destroy as c"cudaGraphDestroy"(graph: Graph);
    fn graph_nodes as c"cudaGraphGetNodes"(graph: Graph, nodes: *mut GraphNode, count: *mut usize);
    /// An edge's data are one word. Without room for them, graphs whose edges have some are refused.
    fn graph_edges as c"cudaGraphGetEdges_v2"(
        graph: Graph, from: *mut GraphNode, to: *mut GraphNode, data: *mut u64, count: *mut usize
    );
    fn graph_node_kind as c"cudaGraphNodeGetType"(node: GraphNode, kind: *mut c_int);
    fn graph_child as c"cudaGraphChildGraphNodeGetGraph"(node: GraphNode, graph: *mut Graph);
    fn graph_kernel as c"cudaGraphKernelNodeGetParams"(node: GraphNode, parameters: *mut KernelNodeParameters);
    fn graph_set_kernel as c"cudaGraphKernelNodeSetParams"(node: GraphNode, parameters: *const KernelNodeParameters);
    fn graph_memset as c"cudaGraphMemsetNodeGetParams"(node: GraphNode, parameters: *mut MemsetParameters);
    fn graph_set_memset as c"cudaGraphMemsetNodeSetParams"(node: GraphNode, parameters: *const MemsetParameters);
    fn graph_set_memcpy as c"cudaGraphMemcpyNodeSetParams"(node: GraphNode, parameters: *const c_void);
    fn graph_set_memcpy_1d as c"cudaGraphMemcpyNodeSetParams1D"(
        node: GraphNode, to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int
    );
    fn graph_set_memcpy_to_symbol as c"cudaGraphMemcpyNodeSetParamsToSymbol"(
        node: GraphNode, symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int
    );
    fn graph_set_memcpy_from_symbol as c"cudaGraphMemcpyNodeSetParamsFromSymbol"(
        node: GraphNode, to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int
    );
    /// A node of any kind.
    fn graph_set as c"cudaGraphNodeSetParams"(node: GraphNode, parameters: *mut NodeParameters);
    fn graph_host as c"cudaGraphHostNodeGetParams"(node: GraphNode, parameters: *mut HostNodeParameters);
    fn graph_recorded_event as c"cudaGraphEventRecordNodeGetEvent"(node: GraphNode, event: *mut Event);
    fn graph_awaited_event as c"cudaGraphEventWaitNodeGetEvent"(node: GraphNode, event: *mut Event);
    fn graph_instantiate as c"cudaGraphInstantiateWithFlags"(instance: *mut GraphExec, graph: Graph, flags: u64);
    fn graph_update as c"cudaGraphExecUpdate"(instance: GraphExec, graph: Graph, result: *mut ffi::UpdateResult);
    fn graph_launch as c"cudaGraphLaunch"(instance: GraphExec, stream: Stream);
    fn graph_instance_destroy as c"cudaGraphExecDestroy"(instance: GraphExec);
    fn graph_find_in_clone as c"cudaGraphNodeFindInClone"(found: *mut GraphNode, original: GraphNode, clone: Graph);
    fn graph_destroy_node as c"cudaGraphDestroyNode"(node: GraphNode);
    fn function_by_symbol as c"cudaGetFuncBySymbol"(function: *mut *mut c_void, stub: *const c_void);
    /// The calling thread's last error, which is forgotten.
    fn get_last_error as c"cudaGetLastError"();
}

/// All properties of a device, in whatever version of the structure the runtime has; the name comes first in all of them.
///
/// # Safety
/// `properties` must have room for the largest of them.
pub unsafe fn device_properties(properties: *mut c_void, device: c_int) -> Error {
    let names = [c"cudaGetDeviceProperties_v2", c"cudaGetDeviceProperties"];
    let Some(address) = names.iter().find_map(|name| look_up(name)) else {
        return ffi::SYMBOL_NOT_FOUND;
    };
    // SAFETY: the C interface gives both functions this type.
    let function: unsafe extern "C" fn(*mut c_void, c_int) -> Error =
        unsafe { std::mem::transmute(address) };
    // SAFETY: the caller gives enough room.
    unsafe { function(properties, device) }
}

/// An error's name and what it means: `cudaErrorIllegalAddress (an illegal memory access was encountered)`.
pub fn describe(error: Error) -> String {
    static NAME: Entry = Entry::new(c"cudaGetErrorName");
    static TEXT: Entry = Entry::new(c"cudaGetErrorString");
    let text = |entry: &Entry| {
        let pointer = call!(entry, (error => Error) -> *const c_char, std::ptr::null());
        if pointer.is_null() {
            return None;
        }
        // SAFETY: the runtime gives a constant, zero-terminated text.
        let text = unsafe { CStr::from_ptr(pointer) };
        Some(text.to_string_lossy().into_owned())
    };
    match (text(&NAME), text(&TEXT)) {
        (Some(name), Some(text)) => format!("{name} ({text})"),
        _ => format!("CUDA error {error}"),
    }
}

/// Turns an error into a message `failed to WHAT: …`.
pub fn check(error: Error, what: &str) -> Result<(), String> {
    if error == ffi::SUCCESS {
        Ok(())
    } else {
        Err(format!("failed to {what}: {}", describe(error)))
    }
}

/// What `ask` leaves in `place`.
pub fn answer<T>(what: &str, mut place: T, ask: impl FnOnce(&mut T) -> Error) -> Result<T, String> {
    check(ask(&mut place), what)?;
    Ok(place)
}

/// Bytes of the current device's memory: free, and all.
pub fn free_and_total() -> Result<(usize, usize), String> {
    let ask = |(free, total): &mut (usize, usize)| {
        // SAFETY: both pointers lead to numbers.
        unsafe { memory_info(free, total) }
    };
    answer("ask how much memory the GPU has", (0, 0), ask)
}

/// Attributes of the kernel of a host stub, whose module is loaded for that.
pub fn attributes_of(stub: usize) -> Option<FunctionAttributes> {
    let mut attributes = FunctionAttributes {
        static_shared_bytes: 0,
        rest: [0; 63],
    };
    // SAFETY: the structure has room for what any version of the runtime writes; the stub was registered.
    let error = unsafe { function_attributes(&mut attributes, stub as *const c_void) };
    (error == ffi::SUCCESS).then_some(attributes)
}

/// Nanoseconds between two events of the runtime's that have happened.
pub fn elapsed_ns(events: [usize; 2]) -> Result<u64, Error> {
    let mut milliseconds = 0f32;
    let [start, end] = events.map(|event| event as Event);
    // SAFETY: the pointer leads to a number; the caller has the events from the runtime.
    match unsafe { event_elapsed(&mut milliseconds, start, end) } {
        ffi::SUCCESS => Ok((f64::from(milliseconds) * 1e6) as u64),
        error => Err(error),
    }
}

/// Lets the calling thread do what a capture into a CUDA graph forbids otherwise; answers the mode that it had.
pub fn relax_capture_mode() -> c_int {
    let mut mode = ffi::CAPTURE_RELAXED;
    // SAFETY: the pointer leads to a number.
    unsafe { exchange_capture_mode(&mut mode) };
    mode
}

/// Gives the calling thread the mode `mode` that [`relax_capture_mode`] answered.
pub fn restore_capture_mode(mut mode: c_int) {
    // SAFETY: the pointer leads to a number.
    unsafe { exchange_capture_mode(&mut mode) };
}
