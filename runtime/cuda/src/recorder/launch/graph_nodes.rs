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
    cudaGraph_t, cudaGraphNode_t, cudaHostNodeParams, cudaKernelNodeParams, cudaMemcpyKind,
    cudaMemsetParams,
};
use std::ffi::c_void;
use std::sync::Arc;
use superstep_runtime_core::cuda::extents;
use superstep_trace::{OpaqueGeometry, Probe};

/// A place in a CUDA graph at which nodes are added, each following the one before it.
pub trait Insertion {
    fn kernel(&mut self, trailing: Option<[u64; 2]>) -> Result<(), Status>;

    /// Returns the buffer of the kernels before this place, or an unused one.
    fn buffer(&mut self) -> Result<Arc<DrainBuffer>, RecordError>;

    /// Adds the kernel that empties a buffer.
    fn flush(&mut self, buffer: &Arc<DrainBuffer>) -> Result<(), RecordError>;

    /// Clears the recorder's device memory, given by address and size in bytes.
    fn clear(&mut self, memory: (u64, usize)) -> Status;

    /// Copies the recorder's device memory to the host.
    fn copy(&mut self, to: Pinned, from: (u64, usize)) -> Status;

    /// # Safety
    ///
    /// It must be safe to call `function` with `data` until the process exits.
    unsafe fn host_function(
        &mut self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Status;
}

pub struct Captured<'a> {
    pub call: &'a Call<'a>,
    pub kernel: &'a Kernel,
    pub graph: Graph,
    pub handle: Option<GraphNode>,
    pub own: Vec<GraphNode>,
}

impl Captured<'_> {
    fn track(&mut self, status: Status) -> Status {
        if status.is_success() {
            self.own.extend(last_captured(self.call.stream()));
        }
        status
    }
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
            flush.launch(self.call.stream())?;
            self.track(Status::SUCCESS);
        }
        Ok(())
    }

    fn clear(&mut self, (address, bytes): (u64, usize)) -> Status {
        // SAFETY: the memory belongs to the recorder and is never freed.
        let cleared = unsafe { memory::fill(address, 0, bytes, self.call.stream()) };
        self.track(cleared)
    }

    fn copy(&mut self, to: Pinned, (from, bytes): (u64, usize)) -> Status {
        // SAFETY: both sides belong to the recorder, are `bytes` bytes long and are never freed.
        let copied = unsafe { memory::copy_to_host(to.at(), from, bytes, self.call.stream()) };
        self.track(copied)
    }

    unsafe fn host_function(
        &mut self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Status {
        // SAFETY: by the trait's contract, it is safe to call `function` with `data`.
        let queued = unsafe { self.call.stream().launch_host_function(function, data) };
        self.track(queued)
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

    /// Adds one of the recorder's nodes after the last node.
    fn add_own(
        &mut self,
        add: impl FnOnce(*mut cudaGraphNode_t, cudaGraph_t, *const cudaGraphNode_t, usize) -> Status,
    ) -> Status {
        let mut node = GraphNode::NULL;
        let (first, count) = (self.last.as_ptr().cast(), self.last.len());
        let status = add((&raw mut node).cast(), self.graph.raw(), first, count);
        if status.is_success() {
            self.own.push(node);
            self.last = vec![node];
        }
        status
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

    fn clear(&mut self, (address, bytes): (u64, usize)) -> Status {
        let fill = cudaMemsetParams {
            dst: address as *mut c_void,
            pitch: bytes,
            value: 0,
            elementSize: 1,
            width: bytes,
            height: 1,
        };
        // SAFETY: the nodes belong to the graph; the memory belongs to the recorder and is never freed.
        self.add_own(|node, graph, first, count| unsafe {
            cuda!(cudaGraphAddMemsetNode(node, graph, first, count, &fill))
        })
    }

    fn copy(&mut self, to: Pinned, (from, bytes): (u64, usize)) -> Status {
        let kind = cudaMemcpyKind::cudaMemcpyDeviceToHost;
        let from = from as *const c_void;
        // SAFETY: the nodes belong to the graph. Both sides are the recorder's, `bytes` bytes long, and never freed.
        self.add_own(|node, graph, first, count| unsafe {
            cuda!(cudaGraphAddMemcpyNode1D(
                node,
                graph,
                first,
                count,
                to.at(),
                from,
                bytes,
                kind
            ))
        })
    }

    unsafe fn host_function(
        &mut self,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Status {
        let host = cudaHostNodeParams {
            fn_: Some(function),
            userData: data,
        };
        // SAFETY: the nodes belong to the graph; by the trait's contract, it is safe to call `function` with `data`.
        self.add_own(|node, graph, first, count| unsafe {
            cuda!(cudaGraphAddHostNode(node, graph, first, count, &host))
        })
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
