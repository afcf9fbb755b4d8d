//! Functions that add, read and change the nodes of graphs.

use super::structures::{self, Allocation};
use super::{GRAPHS, Kind, NODES, Work, add, clone, instances};
use crate::errors::{CudaError, CudaResult, check_sticky, cuda, given, put};
use crate::exec::arguments::OwnedArguments;
use crate::exec::launch::LaunchRequest;
use crate::memory::copies::copy;
use crate::memory::symbols::{FROM_DEVICE, TO_DEVICE, symbol_part};
use crate::registry;
use crate::runtime::unsupported;
use cudarc::runtime::sys::{cudaHostNodeParams, cudaKernelNodeParams, cudaMemsetParams};
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use superstep_runtime_core::cuda::{Copy3d, slice};

fn put_node(
    place: *mut usize,
    to: usize,
    dependencies: *const usize,
    count: usize,
    work: Result<Work, CudaError>,
) -> CudaResult {
    check_sticky()?;
    if place.is_null() || dependencies.is_null() && count > 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the program passes this many handles.
    let dependencies = unsafe { slice(dependencies, count) };
    put(place, add(to, dependencies, work?)?)
}

fn kernel(parameters: *const cudaKernelNodeParams) -> Result<Work, CudaError> {
    let parameters = given(parameters)?;
    let kernel = registry::kernel(parameters.func)?;
    // Only the driver API passes arguments in one block (`extra`).
    let arguments = Arc::new(OwnedArguments::copy(&kernel, parameters.kernelParams)?);
    let request = LaunchRequest {
        function: parameters.func as usize,
        grid: parameters.gridDim,
        block: parameters.blockDim,
        shared_bytes: parameters.sharedMemBytes as usize,
        is_cooperative: false,
    };
    Ok(Work::Kernel(request, arguments))
}

fn copy_3d(copy: *const Copy3d) -> Result<Work, CudaError> {
    given(copy).map(|copy| Work::Copy(Box::new(*copy)))
}

fn fill(parameters: *const cudaMemsetParams) -> Result<Work, CudaError> {
    let parameters = *given(parameters)?;
    match parameters.elementSize {
        1 | 2 | 4 => Ok(Work::Fill(parameters)),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

fn host(parameters: *const cudaHostNodeParams) -> Result<Work, CudaError> {
    given(parameters).map(|parameters| Work::Host(*parameters))
}

const GRAPH_COPY: &str = "a graph's copy";

fn call(call: impl Fn(*mut c_void) -> CudaResult + 'static) -> Result<Work, CudaError> {
    Ok(Work::Call(Kind::Copy, Arc::new(call)))
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

/// Defines functions that read the work of a node.
macro_rules! read {
    ($([$name:ident] $type:ty: $kind:pat => $value:expr;)*) => {
        cuda! {$(
            fn [$name](handle: usize, place: *mut $type) {
                match &*NODES.get(handle)?.work.lock() {
                    $kind => put(place, $value),
                    _ => Err(CudaError::INVALID_VALUE),
                }
            }
        )*}
    };
}

/// Defines functions that add a node, replace its work, or replace its work in an instance.
macro_rules! work {
    ($([$($add:ident)?] [$($set:ident)?] [$($set_in_instance:ident)?] $parameters:tt $work:expr;)*) => {$(
        $(work! { add $add $parameters $work })?
        $(work! { set $set $parameters $work })?
        $(work! { set_in_instance $set_in_instance $parameters $work })?
    )*};
    (add $name:ident ($($argument:ident: $type:ty),*) $work:expr) => {
        cuda! { fn [$name](place: *mut usize, graph: usize, dependencies: *const usize, count: usize, $($argument: $type),*) {
            put_node(place, graph, dependencies, count, $work)
        } }
    };
    (set $name:ident ($($argument:ident: $type:ty),*) $work:expr) => {
        cuda! { fn [$name](handle: usize, $($argument: $type),*) {
            let work = $work?;
            NODES.get(handle)?.work.lock().replace(work)
        } }
    };
    (set_in_instance $name:ident ($($argument:ident: $type:ty),*) $work:expr) => {
        cuda! { fn [$name](instance: usize, node: usize, $($argument: $type),*) {
            let work = $work?;
            instances::step(instance, node, |step| step.work.replace(work))
        } }
    };
}

work! {
    [cudaGraphAddKernelNode] [cudaGraphKernelNodeSetParams] [cudaGraphExecKernelNodeSetParams]
        (parameters: *const cudaKernelNodeParams) kernel(parameters);
    [cudaGraphAddMemcpyNode] [cudaGraphMemcpyNodeSetParams] [cudaGraphExecMemcpyNodeSetParams]
        (parameters: *const Copy3d) copy_3d(parameters);
    [cudaGraphAddMemcpyNode1D] [cudaGraphMemcpyNodeSetParams1D] [cudaGraphExecMemcpyNodeSetParams1D]
        (to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int)
        call(move |stream| copy(GRAPH_COPY, to, from, bytes, kind, stream));
    [cudaGraphAddMemcpyNodeToSymbol] [] [cudaGraphExecMemcpyNodeSetParamsToSymbol]
        (symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int)
        call(move |stream| {
            let to = symbol_part(symbol, [bytes, offset], kind, TO_DEVICE)?;
            copy(GRAPH_COPY, to, from, bytes, kind, stream)
        });
    [cudaGraphAddMemcpyNodeFromSymbol] [] [cudaGraphExecMemcpyNodeSetParamsFromSymbol]
        (to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int)
        call(move |stream| {
            let from = symbol_part(symbol, [bytes, offset], kind, FROM_DEVICE)?;
            copy(GRAPH_COPY, to, from, bytes, kind, stream)
        });
    [cudaGraphAddMemsetNode] [cudaGraphMemsetNodeSetParams] [cudaGraphExecMemsetNodeSetParams]
        (parameters: *const cudaMemsetParams) fill(parameters);
    [cudaGraphAddHostNode] [cudaGraphHostNodeSetParams] [cudaGraphExecHostNodeSetParams]
        (parameters: *const cudaHostNodeParams) host(parameters);
    [cudaGraphAddEventRecordNode] [cudaGraphEventRecordNodeSetEvent] [cudaGraphExecEventRecordNodeSetEvent]
        (raw_event: *mut c_void) event(raw_event, Work::Record);
    [cudaGraphAddEventWaitNode] [cudaGraphEventWaitNodeSetEvent] [cudaGraphExecEventWaitNodeSetEvent]
        (raw_event: *mut c_void) event(raw_event, Work::Wait);
    [cudaGraphAddChildGraphNode] [] [] (child: usize) clone(child).map(Work::Child);
    [cudaGraphAddEmptyNode] [] [] () Ok(Work::Empty);
    [cudaGraphAddMemAllocNode] [] [] (parameters: *mut Allocation) allocation(parameters);
    [cudaGraphAddMemFreeNode] [] [] (address: *mut c_void) Ok(Work::Free(address as u64));
}

read! {
    [cudaGraphKernelNodeGetParams] cudaKernelNodeParams: Work::Kernel(request, arguments) => cudaKernelNodeParams {
        func: request.function as *mut c_void,
        gridDim: request.grid,
        blockDim: request.block,
        sharedMemBytes: request.shared_bytes as u32,
        kernelParams: arguments.pointers(),
        extra: std::ptr::null_mut(),
    };
    [cudaGraphMemcpyNodeGetParams] Copy3d: Work::Copy(copy) => **copy;
    [cudaGraphMemsetNodeGetParams] cudaMemsetParams: Work::Fill(fill) => *fill;
    [cudaGraphHostNodeGetParams] cudaHostNodeParams: Work::Host(host) => *host;
    [cudaGraphEventRecordNodeGetEvent] usize: Work::Record(event) => *event;
    [cudaGraphEventWaitNodeGetEvent] usize: Work::Wait(event) => *event;
    [cudaGraphChildGraphNodeGetGraph] usize: Work::Child(child) => GRAPHS.get(*child).map(|_| *child)?;
    [cudaGraphMemAllocNodeGetParams] Allocation: Work::Allocate(allocation) => *allocation;
    [cudaGraphMemFreeNodeGetParams] u64: Work::Free(address) => *address;
}

/// `cudaGraphConditionalHandleCreate`, which conditional nodes require.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphConditionalHandleCreate() -> ! {
    unsupported(format_args!(
        "cudaGraphConditionalHandleCreate: Superstep does not support conditional graph nodes; let the host decide which graphs it launches"
    ))
}
