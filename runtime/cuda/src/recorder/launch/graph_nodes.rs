//! Kernels that are added to CUDA graphs, by stream capture and as explicit nodes.

use super::opaque;
use super::{Call, cannot_launch, geometry, with_trailing};
use crate::cuda::graph::last_captured;
use crate::cuda::memory::{self, Pinned};
use crate::cuda::{Graph, GraphNode, Status, Stub, cuda};
use crate::model::graphs::{Node, NodeRecording};
use crate::model::modules::Kernel;
use crate::recorder::drain::buffers::DrainBuffer;
use crate::recorder::runtime::{runtime, session};
use crate::recorder::{RecordError, Recorder, in_situ, selection};
use cudarc::runtime::sys::{
    cudaHostNodeParams, cudaKernelNodeParams, cudaMemcpyKind, cudaMemsetParams,
};
use std::ffi::c_void;
use std::sync::Arc;
use superstep_runtime_core::cuda::extents;
use superstep_trace::{OpaqueGeometry, Probe};

/// A node that does work for a kernel's recorder. Device memory is given by address and size in bytes.
pub enum OwnNode {
    /// Clears device memory.
    Clear((u64, usize)),
    /// Copies device memory to the host.
    Copy(Pinned, (u64, usize)),
    /// Calls a host function with its argument.
    Call(unsafe extern "C" fn(*mut c_void), *mut c_void),
}

/// A place in a CUDA graph at which nodes are added, each following the one before it.
pub trait Insertion {
    fn kernel(&mut self, trailing: Option<[u64; 2]>) -> Result<(), Status>;

    /// Returns the buffer of the kernels before this place, or an unused one.
    fn buffer(&mut self) -> Result<Arc<DrainBuffer>, RecordError>;

    /// Adds the kernel that empties a buffer.
    fn flush(&mut self, buffer: &Arc<DrainBuffer>) -> Result<(), RecordError>;

    /// # Safety
    ///
    /// The node's memory must belong to the recorder and never be freed. It must be safe to call its function with its
    /// argument until the process exits.
    unsafe fn add(&mut self, node: OwnNode) -> Status;
}

pub struct Captured<'a> {
    pub call: &'a Call<'a>,
    pub kernel: &'a Kernel,
    pub graph: Graph,
    pub handle: Option<GraphNode>,
    pub own: Vec<GraphNode>,
}

impl Insertion for Captured<'_> {
    fn kernel(&mut self, trailing: Option<[u64; 2]>) -> Result<(), Status> {
        let launched = match trailing {
            Some([context, launch]) => self.call.launch_with(self.kernel, context, launch),
            None => self.call.launch_as_is(),
        };
        self.handle = last_captured(self.call.stream());
        launched
            .ok()
            .inspect_err(|&error| self.call.explain_refusal(self.kernel, error))
    }

    fn buffer(&mut self) -> Result<Arc<DrainBuffer>, RecordError> {
        let runtime = runtime();
        // Keyed by number, since the default streams of all host threads share a handle.
        let number = runtime.stream(self.call.stream);
        let make = || runtime.tracing.graph_buffer();
        runtime.graphs.captured_buffer(self.graph, number, make)
    }

    fn flush(&mut self, buffer: &Arc<DrainBuffer>) -> Result<(), RecordError> {
        if let Some(flush) = &buffer.flush {
            let stream = self.call.stream();
            flush.launch(stream)?;
            self.own.extend(last_captured(stream));
        }
        Ok(())
    }

    unsafe fn add(&mut self, node: OwnNode) -> Status {
        let stream = self.call.stream();
        // SAFETY: by the trait's contract, the memory is never freed, and the function may be called.
        let added = unsafe {
            match node {
                OwnNode::Clear((address, bytes)) => memory::fill(address, 0, bytes, stream),
                OwnNode::Copy(to, (from, bytes)) => {
                    memory::copy_to_host(to.at(), from, bytes, stream)
                }
                OwnNode::Call(function, data) => stream.launch_host_function(function, data),
            }
        };
        if added.is_success() {
            self.own.extend(last_captured(stream));
        }
        added
    }
}

struct Explicit<'a> {
    kernel: &'a Kernel,
    graph: Graph,
    /// The program's variable for the kernel's handle.
    handle: *mut GraphNode,
    dependencies: &'a [GraphNode],
    last: Vec<GraphNode>,
    parameters: &'a cudaKernelNodeParams,
    own: Vec<GraphNode>,
}

impl Explicit<'_> {
    fn added_kernel(&self) -> GraphNode {
        // SAFETY: the program passes room for a handle, which `add` has filled.
        unsafe { *self.handle }
    }
}

impl Insertion for Explicit<'_> {
    fn kernel(&mut self, trailing: Option<[u64; 2]>) -> Result<(), Status> {
        match trailing {
            Some(trailing) => {
                with_arguments(self.kernel, self.parameters, trailing, |parameters| {
                    add_node(self.handle, self.graph, &self.last, parameters)
                })
            }
            None => add_node(self.handle, self.graph, self.dependencies, self.parameters),
        }
        .ok()?;
        self.last = vec![self.added_kernel()];
        Ok(())
    }

    fn buffer(&mut self) -> Result<Arc<DrainBuffer>, RecordError> {
        match runtime().graphs.take_chain(self.graph, &self.last) {
            Some(buffer) => Ok(buffer),
            None => runtime().tracing.graph_buffer(),
        }
    }

    fn flush(&mut self, buffer: &Arc<DrainBuffer>) -> Result<(), RecordError> {
        if let Some(flush) = &buffer.flush {
            let tail = flush.add_to(self.graph, self.added_kernel())?;
            self.own.push(tail);
            (runtime().graphs).set_chain(self.graph, tail, buffer.clone());
        }
        Ok(())
    }

    unsafe fn add(&mut self, node: OwnNode) -> Status {
        let (mut added, graph) = (GraphNode::NULL, self.graph.raw());
        let place = (&raw mut added).cast();
        let (first, count) = (self.last.as_ptr().cast(), self.last.len());
        // SAFETY: the nodes belong to the graph; by the trait's contract, the memory is never freed, and the function
        // may be called.
        let status = unsafe {
            match node {
                OwnNode::Clear((address, bytes)) => {
                    let fill = cudaMemsetParams {
                        dst: address as *mut c_void,
                        pitch: bytes,
                        value: 0,
                        elementSize: 1,
                        width: bytes,
                        height: 1,
                    };
                    cuda!(cudaGraphAddMemsetNode(place, graph, first, count, &fill))
                }
                OwnNode::Copy(to, (from, bytes)) => {
                    let (to, from) = (to.at(), from as *const c_void);
                    let kind = cudaMemcpyKind::cudaMemcpyDeviceToHost;
                    cuda!(cudaGraphAddMemcpyNode1D(
                        place, graph, first, count, to, from, bytes, kind
                    ))
                }
                OwnNode::Call(function, data) => {
                    let host = cudaHostNodeParams {
                        fn_: Some(function),
                        userData: data,
                    };
                    cuda!(cudaGraphAddHostNode(place, graph, first, count, &host))
                }
            }
        };
        if status.is_success() {
            self.own.push(added);
            self.last = vec![added];
        }
        status
    }
}

/// Calls `run` with a kernel's parameters and the two trailing arguments.
fn with_arguments(
    kernel: &Kernel,
    parameters: &cudaKernelNodeParams,
    trailing: [u64; 2],
    run: impl FnOnce(&cudaKernelNodeParams) -> Status,
) -> Status {
    with_trailing(kernel, parameters.kernelParams, trailing, |arguments| {
        run(&cudaKernelNodeParams {
            kernelParams: arguments,
            ..*parameters
        })
    })
}

/// Adds a kernel to a graph unchanged.
fn add_node(
    handle: *mut GraphNode,
    graph: Graph,
    before: &[GraphNode],
    kernel: &cudaKernelNodeParams,
) -> Status {
    let (node, graph) = (handle.cast(), graph.raw());
    let (first, count) = (before.as_ptr().cast(), before.len());
    // SAFETY: the handles are the program's or the recorder's own, and the parameters live until the call returns.
    unsafe { cuda!(cudaGraphAddKernelNode(node, graph, first, count, kernel)) }
}

/// Adds a kernel to a graph, with the nodes that its recorder needs; stores its node in `handle`.
pub fn add_kernel(
    handle: *mut GraphNode,
    graph: Graph,
    dependencies: &[GraphNode],
    parameters: &cudaKernelNodeParams,
) -> Status {
    let runtime = runtime();
    if runtime.device().is_none() {
        return add_node(handle, graph, dependencies, parameters);
    }
    let kernel = runtime.kernel(Stub::from_raw(parameters.func));
    let recorder = (kernel.as_ref()).and_then(|kernel| runtime.recorder(kernel));
    let (Some(kernel), Some(recorder)) = (&kernel, recorder) else {
        let status = add_node(handle, graph, dependencies, parameters);
        if status.is_success() {
            let geometry = OpaqueGeometry {
                grid: extents(parameters.gridDim),
                block: extents(parameters.blockDim),
            };
            let node = opaque::node(kernel.map(|kernel| kernel.name.clone()), geometry);
            // SAFETY: the program passes room for a handle, which `add` has filled.
            let added = unsafe { *handle };
            (runtime.graphs).add(graph, Some(added), Vec::new(), node);
        }
        return status;
    };
    // A node that depends on a traced kernel must follow the kernel's flush, after which the buffer is free.
    let tail = |&node: &GraphNode| {
        let known = runtime.graphs.node(node);
        let tail = known.and_then(|known| known.own.last().copied());
        tail.unwrap_or(node)
    };
    let place = Explicit {
        kernel,
        graph,
        handle,
        dependencies,
        last: dependencies.iter().map(tail).collect(),
        parameters,
        own: Vec::new(),
    };
    match add_recorded(kernel, recorder, place) {
        Ok(()) => {
            runtime.hook_exit();
            Status::SUCCESS
        }
        Err(error) => cannot_launch(&kernel.name, error),
    }
}

/// Returns an error if a kernel cannot be recorded in a graph.
fn check(kernel: &Kernel, parameters: &cudaKernelNodeParams) -> Result<(), RecordError> {
    if kernel.launches {
        return Err(RecordError::ChildrenInGraph);
    }
    let has_trailing = matches!(kernel.probe, Some(Probe::Trace | Probe::Count));
    if has_trailing && !parameters.extra.is_null() {
        return Err(RecordError::ArgumentsInOneBlock);
    }
    Ok(())
}

fn add_recorded(
    kernel: &Arc<Kernel>,
    recorder: &dyn Recorder,
    mut place: Explicit<'_>,
) -> Result<(), RecordError> {
    let parameters = place.parameters;
    check(kernel, parameters)?;
    let recording = recorder.add_to_graph(kernel, &mut place)?;
    let (grid, block) = (extents(parameters.gridDim), extents(parameters.blockDim));
    let geometry = geometry(kernel, grid, block, parameters.sharedMemBytes as usize);
    let node = Node::new(kernel.clone(), geometry, recording);
    let handle = Some(place.added_kernel());
    (runtime().graphs).add(place.graph, handle, place.own, node);
    Ok(())
}

/// Returns the bits of the second trailing argument of a kernel in a graph.
pub fn graph_bits(kernel: &Kernel) -> u64 {
    selection::launch_bits(session().recorded_in_graphs(&kernel.name))
}

/// Sets the parameters of a kernel node in a graph or an instance.
pub fn set_parameters(
    handle: GraphNode,
    parameters: *const cudaKernelNodeParams,
    real: impl FnOnce(*const cudaKernelNodeParams) -> Status,
) -> Status {
    // SAFETY: the program passes parameters, or null.
    let Some(given) = (unsafe { parameters.as_ref() }) else {
        return real(parameters);
    };
    let kernel = runtime().kernel(Stub::from_raw(given.func));
    if runtime().in_situ.is_used() {
        let Some(kernel) = kernel.filter(|kernel| kernel.probe == Some(Probe::Trace)) else {
            return real(given);
        };
        return match check(&kernel, given) {
            Ok(()) => with_arguments(&kernel, given, in_situ::UNASSIGNED, |given| real(given)),
            Err(error) => cannot_launch(&kernel.name, error),
        };
    }
    let Some(known) = runtime().graphs.node(handle) else {
        return real(parameters);
    };
    let replaced = &known.node.kernel;
    let bits = graph_bits(replaced);
    let trailing = match &known.node.recording {
        NodeRecording::Traced(buffer) => [buffer.context, buffer.parameter | bits],
        NodeRecording::Counted(counted) => [counted.counters.context, bits],
        NodeRecording::Timed | NodeRecording::Opaque => return real(parameters),
    };
    if kernel.is_none_or(|kernel| kernel.name != replaced.name) {
        session().fault(format!(
            "failed to replace kernel {} in a CUDA graph: this is not supported in a traced program; add a node for the other kernel instead",
            replaced.name
        ));
        return Status::NOT_SUPPORTED;
    }
    let status = with_arguments(replaced, given, trailing, |parameters| real(parameters));
    if status.is_success() {
        let mut geometry = known.node.geometry.lock();
        geometry.grid = extents(given.gridDim);
        geometry.block = extents(given.blockDim);
        geometry.dynamic_shared_bytes = u64::from(given.sharedMemBytes);
    }
    status
}
