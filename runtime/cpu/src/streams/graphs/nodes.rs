//! Functions that add, read and change the nodes of graphs.

use super::structures::{self, Allocation};
use super::{Deferred, KernelWork, Kind, Work, add, clone, graph, node};
use crate::errors::{CudaError, CudaResult, check_sticky, cuda, put};
use crate::exec::arguments::OwnedArguments;
use crate::exec::launch::Asked;
use crate::memory::copies::copy;
use crate::memory::symbols::{copy_from_symbol, copy_to_symbol};
use crate::registry;
use crate::runtime::unsupported;
use cudarc::runtime::sys::{cudaHostNodeParams, cudaKernelNodeParams, cudaMemsetParams};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use superstep_runtime_core::cuda::Copy3d;

/// A structure of the program, which must not be null.
fn given<'a, T>(place: *const T) -> Result<&'a T, CudaError> {
    // SAFETY: the program passes a valid structure or null.
    unsafe { place.as_ref() }.ok_or(CudaError::INVALID_VALUE)
}

/// Adds a node to `to` after `count` others.
fn put_node(
    place: *mut usize,
    to: usize,
    behind: *const usize,
    count: usize,
    work: Result<Work, CudaError>,
) -> CudaResult {
    check_sticky()?;
    if place.is_null() || behind.is_null() && count > 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    let behind = if count == 0 {
        &[]
    } else {
        // SAFETY: the program passes this many handles.
        unsafe { std::slice::from_raw_parts(behind, count) }
    };
    put(place, add(to, behind, work?, 0)?)
}

pub(super) fn kernel(parameters: *const cudaKernelNodeParams) -> Result<Work, CudaError> {
    let parameters = given(parameters)?;
    let kernel = registry::kernel(parameters.func)?;
    // Arguments in one block (`extra`) are for the driver's interface.
    let arguments = Arc::new(OwnedArguments::copy(&kernel, parameters.kernelParams)?);
    let asked = Asked {
        function: parameters.func,
        grid: parameters.gridDim,
        block: parameters.blockDim,
        shared_bytes: parameters.sharedMemBytes as usize,
        is_cooperative: false,
    };
    Ok(Work::Kernel(KernelWork { asked, arguments }))
}

pub(super) fn copy_3d(copy: *const Copy3d) -> Result<Work, CudaError> {
    given(copy).map(|copy| Work::Copy(Box::new(*copy)))
}

pub(super) fn fill(parameters: *const cudaMemsetParams) -> Result<Work, CudaError> {
    let parameters = *given(parameters)?;
    match parameters.elementSize {
        1 | 2 | 4 => Ok(Work::Fill(parameters)),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

pub(super) fn host(parameters: *const cudaHostNodeParams) -> Result<Work, CudaError> {
    given(parameters).map(|parameters| Work::Host(*parameters))
}

/// Name of a copy in messages.
const GRAPH_COPY: &str = "a copy of a graph";

fn call(call: impl Fn(*mut c_void) -> CudaResult + 'static) -> Result<Work, CudaError> {
    Ok(Work::Call(Kind::Copy, Deferred(Arc::new(call))))
}

pub(super) fn copy_1d(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: c_int,
) -> Result<Work, CudaError> {
    call(move |stream| copy(GRAPH_COPY, to, from, bytes, kind, stream))
}

pub(super) fn to_symbol(
    symbol: *const c_void,
    from: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> Result<Work, CudaError> {
    call(move |stream| copy_to_symbol(GRAPH_COPY, symbol, from, bytes, offset, kind, stream))
}

pub(super) fn from_symbol(
    to: *mut c_void,
    symbol: *const c_void,
    bytes: usize,
    offset: usize,
    kind: c_int,
) -> Result<Work, CudaError> {
    call(move |stream| copy_from_symbol(GRAPH_COPY, to, symbol, bytes, offset, kind, stream))
}

fn event(event: *mut c_void, work: impl FnOnce(usize) -> Work) -> Result<Work, CudaError> {
    crate::streams::events::check(event)?;
    Ok(work(event as usize))
}

fn allocation(parameters: *mut Allocation) -> Result<Work, CudaError> {
    // SAFETY: the program passes a valid structure or null.
    let parameters = unsafe { parameters.as_mut() }.ok_or(CudaError::INVALID_VALUE)?;
    parameters.address = structures::allocate(parameters.bytes)?;
    Ok(Work::Allocate(*parameters))
}

/// Replaces the work of a node by other work of the same kind.
pub(super) fn set(handle: usize, work: Result<Work, CudaError>) -> CudaResult {
    let (node, work) = (node(handle)?, work?);
    let mut now = node.work.lock();
    if now.number() != work.number() {
        return Err(CudaError::INVALID_VALUE);
    }
    *now = work;
    Ok(())
}

macro_rules! read {
    ($handle:ident, $kind:pat => $value:expr) => {
        match &*node($handle)?.work.lock() {
            $kind => $value,
            _ => return Err(CudaError::INVALID_VALUE),
        }
    };
}

cuda! {
    fn [cudaGraphAddKernelNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, parameters: *const cudaKernelNodeParams) {
        put_node(place, graph, behind, count, kernel(parameters))
    }

    fn [cudaGraphAddMemcpyNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, parameters: *const Copy3d) {
        put_node(place, graph, behind, count, copy_3d(parameters))
    }

    fn [cudaGraphAddMemcpyNode1D](
        place: *mut usize, graph: usize, behind: *const usize, count: usize, to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int
    ) {
        put_node(place, graph, behind, count, copy_1d(to, from, bytes, kind))
    }

    fn [cudaGraphAddMemcpyNodeToSymbol](
        place: *mut usize, graph: usize, behind: *const usize, count: usize,
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int
    ) {
        put_node(place, graph, behind, count, to_symbol(symbol, from, bytes, offset, kind))
    }

    fn [cudaGraphAddMemcpyNodeFromSymbol](
        place: *mut usize, graph: usize, behind: *const usize, count: usize,
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int
    ) {
        put_node(place, graph, behind, count, from_symbol(to, symbol, bytes, offset, kind))
    }

    fn [cudaGraphAddMemsetNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, parameters: *const cudaMemsetParams) {
        put_node(place, graph, behind, count, fill(parameters))
    }

    fn [cudaGraphAddHostNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, parameters: *const cudaHostNodeParams) {
        put_node(place, graph, behind, count, host(parameters))
    }

    fn [cudaGraphAddChildGraphNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, child: usize) {
        put_node(place, graph, behind, count, clone(child).map(Work::Child))
    }

    fn [cudaGraphAddEmptyNode](place: *mut usize, graph: usize, behind: *const usize, count: usize) {
        put_node(place, graph, behind, count, Ok(Work::Empty))
    }

    fn [cudaGraphAddEventRecordNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, of: *mut c_void) {
        put_node(place, graph, behind, count, event(of, Work::Record))
    }

    fn [cudaGraphAddEventWaitNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, of: *mut c_void) {
        put_node(place, graph, behind, count, event(of, Work::Wait))
    }

    fn [cudaGraphAddMemAllocNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, parameters: *mut Allocation) {
        put_node(place, graph, behind, count, allocation(parameters))
    }

    fn [cudaGraphAddMemFreeNode](place: *mut usize, graph: usize, behind: *const usize, count: usize, address: *mut c_void) {
        put_node(place, graph, behind, count, Ok(Work::Free(address as u64)))
    }

    fn [cudaGraphKernelNodeGetParams](node: usize, place: *mut cudaKernelNodeParams) {
        put(place, read!(node, Work::Kernel(kernel) => cudaKernelNodeParams {
            func: kernel.asked.function.cast_mut(),
            gridDim: kernel.asked.grid,
            blockDim: kernel.asked.block,
            sharedMemBytes: kernel.asked.shared_bytes as u32,
            kernelParams: kernel.arguments.pointers(),
            extra: std::ptr::null_mut(),
        }))
    }

    fn [cudaGraphKernelNodeSetParams](node: usize, parameters: *const cudaKernelNodeParams) {
        set(node, kernel(parameters))
    }

    fn [cudaGraphMemcpyNodeGetParams](node: usize, place: *mut Copy3d) {
        put(place, read!(node, Work::Copy(copy) => **copy))
    }

    fn [cudaGraphMemcpyNodeSetParams](node: usize, parameters: *const Copy3d) {
        set(node, copy_3d(parameters))
    }

    fn [cudaGraphMemcpyNodeSetParams1D](node: usize, to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) {
        set(node, copy_1d(to, from, bytes, kind))
    }

    fn [cudaGraphMemsetNodeGetParams](node: usize, place: *mut cudaMemsetParams) {
        put(place, read!(node, Work::Fill(fill) => *fill))
    }

    fn [cudaGraphMemsetNodeSetParams](node: usize, parameters: *const cudaMemsetParams) {
        set(node, fill(parameters))
    }

    fn [cudaGraphHostNodeGetParams](node: usize, place: *mut cudaHostNodeParams) {
        put(place, read!(node, Work::Host(host) => *host))
    }

    fn [cudaGraphHostNodeSetParams](node: usize, parameters: *const cudaHostNodeParams) {
        set(node, host(parameters))
    }

    fn [cudaGraphEventRecordNodeSetEvent](node: usize, of: *mut c_void) {
        set(node, event(of, Work::Record))
    }

    fn [cudaGraphEventWaitNodeSetEvent](node: usize, of: *mut c_void) {
        set(node, event(of, Work::Wait))
    }

    fn [cudaGraphEventRecordNodeGetEvent](node: usize, place: *mut usize) {
        put(place, read!(node, Work::Record(event) => *event))
    }

    fn [cudaGraphEventWaitNodeGetEvent](node: usize, place: *mut usize) {
        put(place, read!(node, Work::Wait(event) => *event))
    }

    fn [cudaGraphChildGraphNodeGetGraph](node: usize, place: *mut usize) {
        let child = read!(node, Work::Child(child) => *child);
        graph(child)?;
        put(place, child)
    }

    fn [cudaGraphMemAllocNodeGetParams](node: usize, place: *mut Allocation) {
        put(place, read!(node, Work::Allocate(allocation) => *allocation))
    }

    fn [cudaGraphMemFreeNodeGetParams](node: usize, place: *mut u64) {
        put(place, read!(node, Work::Free(address) => *address))
    }
}

/// `cudaGraphConditionalHandleCreate`, without whose handle there is no conditional node.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphConditionalHandleCreate() -> ! {
    unsupported(format_args!(
        "cudaGraphConditionalHandleCreate: Superstep does not support conditional graph nodes; let the host decide which graphs it launches"
    ))
}
