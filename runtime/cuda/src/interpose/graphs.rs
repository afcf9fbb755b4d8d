//! CUDA graphs: captures, explicit nodes, instances and launches.

use super::{interposed, stored, then, unless_probed};
use crate::cuda::graph::NodeKind;
use crate::cuda::{Event, Graph, GraphExec, GraphNode, Status, Stream, StreamArgument, cuda};
use crate::model::own_nodes;
use crate::recorder::in_situ::NodeChange;
use crate::recorder::launch::graph_nodes::{add_kernel, set_parameters};
use crate::recorder::launch::graphs::{launch, refuse_twice};
use crate::recorder::runtime::{runtime, session};
use cudarc::runtime::sys::{
    cudaGraphInstantiateFlags, cudaGraphInstantiateParams, cudaGraphNodeParams, cudaHostNodeParams,
    cudaKernelNodeParams, cudaMemcpy3DParms, cudaMemcpyKind, cudaMemsetParams,
};
use std::ffi::{c_int, c_uint, c_void};
use superstep_runtime_core::cuda::slice;

type Nodes = *const GraphNode;

const DEVICE_LAUNCH: u64 = cudaGraphInstantiateFlags::cudaGraphInstantiateFlagDeviceLaunch as u64;

fn instantiated(status: Status, instance: *mut GraphExec, graph: Graph, flags: u64) -> Status {
    if let Some(instance) = stored(status, instance) {
        record_instance(instance, graph);
    }
    if flags & DEVICE_LAUNCH != 0 && runtime().is_probed() {
        session().fault(
            "a CUDA graph may be launched from the device (cudaGraphInstantiateFlagDeviceLaunch); such launches cannot be traced",
        );
    }
    status
}

fn record_instance(instance: GraphExec, graph: Graph) {
    let runtime = runtime();
    runtime.graphs.instantiated(instance, graph);
    runtime.in_situ.instantiated(instance, graph);
}

/// Records a change to a copy or fill in an instance. `set` makes the same change to another node.
fn memory_changed(
    status: Status,
    instance: GraphExec,
    node: GraphNode,
    set: impl Fn(GraphNode) -> Status,
) -> Status {
    let change = NodeChange::Memory(&set);
    (runtime().in_situ).node_changed(status, instance, node, change)
}

/// Returns the direction of a copy that CUDA has accepted.
fn copy_kind(kind: c_int) -> cudaMemcpyKind {
    use cudaMemcpyKind::*;
    let kinds = [
        cudaMemcpyHostToHost,
        cudaMemcpyHostToDevice,
        cudaMemcpyDeviceToHost,
        cudaMemcpyDeviceToDevice,
    ];
    let known = usize::try_from(kind).ok().and_then(|kind| kinds.get(kind));
    known.copied().unwrap_or(cudaMemcpyDefault)
}

/// Forwards a change to an instance, except in situ, where the instance's nodes run one by one.
fn unless_in_situ(what: &str, real: impl FnOnce() -> Status) -> Status {
    if !runtime().in_situ.is_used() {
        return real();
    }
    session().fault(format!(
        "{what} is not supported with --in-situ; instantiate the changed CUDA graph instead, or trace the program"
    ));
    Status::NOT_SUPPORTED
}

/// Forwards the replacement of a child graph in an instance. Traces do not reflect this change.
fn child_changed(
    what: &str,
    instance: GraphExec,
    node: GraphNode,
    real: impl FnOnce() -> Status,
) -> Status {
    let what = format!("a change to a child graph in an instance ({what})");
    unless_in_situ(&what, || {
        memory_changed(real(), instance, node, |_| Status::NOT_SUPPORTED)
    })
}

fn add_child(graph: Graph, child: Graph, real: impl FnOnce() -> Status) -> Status {
    let graphs = &runtime().graphs;
    let nodes = graphs.of_graph(child);
    if !graphs.extend(graph, &nodes) {
        return refuse_twice();
    }
    real()
}

fn kind_of(parameters: *const cudaGraphNodeParams) -> Option<NodeKind> {
    if parameters.is_null() {
        return None;
    }
    // SAFETY: the structure begins with its kind, which is read as an integer because newer versions of CUDA may add
    // kinds.
    Some(NodeKind(unsafe { parameters.cast::<c_int>().read() }))
}

fn add_node(
    handle: *mut GraphNode,
    graph: Graph,
    dependencies: &[GraphNode],
    has_edges: bool,
    parameters: *const cudaGraphNodeParams,
    real: impl FnOnce() -> Status,
) -> Status {
    match kind_of(parameters) {
        Some(NodeKind::KERNEL) if has_edges => unless_probed(
            "a kernel in a CUDA graph with edge data (cudaGraphEdgeData)",
            real,
        ),
        Some(NodeKind::KERNEL) => {
            // SAFETY: the parameters are those of a kernel. Both of CUDA's structures for them have the same layout (a
            // test compares the two).
            let kernel = unsafe {
                let parameters = &raw const (*parameters).__bindgen_anon_1;
                &*parameters.cast::<cudaKernelNodeParams>()
            };
            add_kernel(handle, graph, dependencies, kernel)
        }
        Some(NodeKind::GRAPH) => {
            // SAFETY: the parameters are those of a child graph.
            let child = unsafe { (*parameters).__bindgen_anon_1.graph.graph };
            add_child(graph, Graph::from_raw(child.cast()), real)
        }
        Some(NodeKind::CONDITIONAL) => unless_probed(
            "a conditional node in a CUDA graph (cudaGraphAddNode)",
            real,
        ),
        _ => real(),
    }
}

/// Defines functions that change a copy or fill in an instance, each paired with the function that makes the same
/// change to a node.
macro_rules! memory_changes {
    ($($name:ident($($argument:ident: $type:ty),*) = $of_node:ident($($given:expr),*);)*) => {$(
        interposed! { [$name](instance: GraphExec, node: GraphNode, $($argument: $type),*) |real| {
            memory_changed(real(), instance, node, |own| {
                // SAFETY: these are the program's arguments, which the real function has accepted.
                unsafe { cuda!($of_node(own.raw(), $($given),*)) }
            })
        } }
    )*};
}

memory_changes! {
    cudaGraphExecMemcpyNodeSetParams(copy: *const cudaMemcpy3DParms) = cudaGraphMemcpyNodeSetParams(copy);
    cudaGraphExecMemcpyNodeSetParams1D(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int)
        = cudaGraphMemcpyNodeSetParams1D(to, from, bytes, copy_kind(kind));
    cudaGraphExecMemcpyNodeSetParamsToSymbol(
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int
    ) = cudaGraphMemcpyNodeSetParamsToSymbol(symbol, from, bytes, offset, copy_kind(kind));
    cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int
    ) = cudaGraphMemcpyNodeSetParamsFromSymbol(to, symbol, bytes, offset, copy_kind(kind));
    cudaGraphExecMemsetNodeSetParams(fill: *const cudaMemsetParams) = cudaGraphMemsetNodeSetParams(fill);
}

interposed! {
    [cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz: true](stream: Stream, mode: c_int) |real| {
        then!(real, runtime().graphs.capture_began())
    }
    [cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_ptsz: true](
        stream: Stream, graph: Graph, dependencies: Nodes, edges: *const c_void, count: usize, mode: c_int,
    ) |real, per_thread| {
        let runtime = runtime();
        let number = runtime.stream(StreamArgument { handle: stream, per_thread });
        runtime.graphs.forget_captured_buffer(graph, number);
        then!(real, runtime.graphs.capture_began())
    }
    [cudaStreamEndCapture, cudaStreamEndCapture_ptsz: true](stream: Stream, graph: *mut Graph) |real| {
        runtime().graphs.capture_ended();
        real()
    }
    [cudaGraphAddKernelNode](
        node: *mut GraphNode, graph: Graph, dependencies: Nodes, count: usize, parameters: *const cudaKernelNodeParams,
    ) |real| {
        // SAFETY: the program passes parameters, or null.
        match unsafe { parameters.as_ref() } {
            Some(parameters) if !node.is_null() => {
                // SAFETY: the program passes this many handles.
                add_kernel(node, graph, unsafe { slice(dependencies, count) }, parameters)
            }
            _ => real(),
        }
    }
    [cudaGraphAddNode](
        node: *mut GraphNode, graph: Graph, dependencies: Nodes, count: usize, parameters: *mut cudaGraphNodeParams,
    ) |real| {
        // SAFETY: the program passes this many handles.
        add_node(node, graph, unsafe { slice(dependencies, count) }, false, parameters, real)
    }
    [cudaGraphAddNode_v2](
        node: *mut GraphNode, graph: Graph, dependencies: Nodes, edge_data: *const c_void, count: usize,
        parameters: *mut cudaGraphNodeParams,
    ) |real| {
        // SAFETY: the program passes this many handles.
        add_node(node, graph, unsafe { slice(dependencies, count) }, !edge_data.is_null(), parameters, real)
    }
    [cudaGraphAddChildGraphNode](node: *mut GraphNode, graph: Graph, dependencies: Nodes, count: usize, child: Graph)
    |real| {
        add_child(graph, child, real)
    }
    [cudaGraphClone](clone: *mut Graph, graph: Graph) |real| {
        let status = real();
        if let Some(clone) = stored(status, clone) {
            runtime().graphs.cloned(clone, graph);
        }
        status
    }
    [cudaGraphKernelNodeSetParams](node: GraphNode, parameters: *const cudaKernelNodeParams) |real with parameters| {
        set_parameters(node, parameters, real)
    }
    [cudaGraphExecKernelNodeSetParams](instance: GraphExec, node: GraphNode, parameters: *const cudaKernelNodeParams)
    |real with parameters| {
        set_parameters(node, parameters, |parameters| {
            let status = real(parameters);
            // SAFETY: the caller passes parameters, or null.
            match unsafe { parameters.as_ref() } {
                Some(given) => runtime().in_situ.node_changed(status, instance, node, NodeChange::Kernel(given)),
                None => status,
            }
        })
    }
    [cudaGraphExecHostNodeSetParams](instance: GraphExec, node: GraphNode, parameters: *const cudaHostNodeParams) |real| {
        let status = real();
        // SAFETY: the program passes parameters, or null.
        match unsafe { parameters.as_ref() } {
            Some(&given) => runtime().in_situ.node_changed(status, instance, node, NodeChange::Host(given)),
            None => status,
        }
    }
    [cudaGraphNodeSetEnabled](instance: GraphExec, node: GraphNode, enabled: c_uint) |real| {
        runtime().in_situ.node_changed(real(), instance, node, NodeChange::Enabled(enabled != 0))
    }
    [cudaGraphExecChildGraphNodeSetParams](instance: GraphExec, node: GraphNode, child: Graph) |real| {
        child_changed("cudaGraphExecChildGraphNodeSetParams", instance, node, real)
    }
    [cudaGraphExecEventRecordNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent](
        instance: GraphExec, node: GraphNode, event: Event,
    ) |real| {
        unless_in_situ("a change to an event node in an instance (cudaGraphExecEventRecordNodeSetEvent or …Wait…)", real)
    }
    [cudaGraphExecNodeSetParams](instance: GraphExec, node: GraphNode, parameters: *mut cudaGraphNodeParams) |real| {
        let what = "cudaGraphExecNodeSetParams";
        match kind_of(parameters) {
            // SAFETY: these are the program's parameters, which the real function has accepted.
            Some(NodeKind::COPY | NodeKind::FILL) => memory_changed(real(), instance, node, |own| unsafe {
                cuda!(cudaGraphNodeSetParams(own.raw(), parameters))
            }),
            Some(NodeKind::GRAPH) => child_changed(what, instance, node, real),
            _ => unless_in_situ(&format!("a change to a node of an instance by {what}"), real),
        }
    }
    [cudaGraphNodeSetParams](node: GraphNode, parameters: *mut cudaGraphNodeParams) |real| {
        match kind_of(parameters) {
            Some(NodeKind::KERNEL) => unless_in_situ("a change to a kernel node by cudaGraphNodeSetParams", real),
            _ => real(),
        }
    }
    [cudaGraphGetNodes, cudaGraphGetRootNodes](graph: Graph, nodes: *mut GraphNode, count: *mut usize)
    |real with nodes count| {
        own_nodes::nodes(&runtime().graphs, nodes, count, real)
    }
    [cudaGraphGetEdges](graph: Graph, from: *mut GraphNode, to: *mut GraphNode, count: *mut usize) |real with from to count| {
        own_nodes::edges(&runtime().graphs, [from, to], std::ptr::null_mut(), count, |[from, to], _, count| real(from, to, count))
    }
    [cudaGraphGetEdges_v2](
        graph: Graph, from: *mut GraphNode, to: *mut GraphNode, data: *mut u64, count: *mut usize,
    ) |real with from to data count| {
        own_nodes::edges(&runtime().graphs, [from, to], data, count, |[from, to], data, count| real(from, to, data, count))
    }
    [cudaGraphNodeGetDependencies, cudaGraphNodeGetDependentNodes](
        node: GraphNode, nodes: *mut GraphNode, count: *mut usize,
    ) |real with node nodes count| {
        own_nodes::neighbours(&runtime().graphs, node, nodes, std::ptr::null_mut(), count, |node, nodes, _, count| real(node, nodes, count))
    }
    [cudaGraphNodeGetDependencies_v2, cudaGraphNodeGetDependentNodes_v2](
        node: GraphNode, nodes: *mut GraphNode, data: *mut u64, count: *mut usize,
    ) |real with node nodes data count| {
        own_nodes::neighbours(&runtime().graphs, node, nodes, data, count, real)
    }
    [cudaGraphDestroyNode](node: GraphNode) |real| {
        let known = runtime().graphs.node_destroyed(node);
        for own in known.into_iter().flat_map(|known| known.own) {
            own.destroy();
        }
        real()
    }
    [cudaGraphInstantiate, cudaGraphInstantiateWithFlags](instance: *mut GraphExec, graph: Graph, flags: u64) |real| {
        instantiated(real(), instance, graph, flags)
    }
    [cudaGraphInstantiateWithParams, cudaGraphInstantiateWithParams_ptsz: true](
        instance: *mut GraphExec, graph: Graph, parameters: *mut cudaGraphInstantiateParams,
    ) |real| {
        // SAFETY: a pointer that is not null points to parameters, of which only the flags are read.
        let flags = if parameters.is_null() { 0 } else { unsafe { (*parameters).flags } };
        instantiated(real(), instance, graph, flags)
    }
    [cudaGraphExecUpdate](instance: GraphExec, graph: Graph, result: *mut c_void) |real| {
        then!(real, record_instance(instance, graph))
    }
    [cudaGraphLaunch, cudaGraphLaunch_ptsz: true](instance: GraphExec, stream: Stream) |real, per_thread| {
        launch(instance, StreamArgument { handle: stream, per_thread }, real)
    }
    [cudaGraphDestroy](graph: Graph) |real| {
        runtime().graphs.destroyed(graph);
        real()
    }
    [cudaGraphExecDestroy](instance: GraphExec) |real| {
        runtime().graphs.instance_destroyed(instance);
        runtime().in_situ.instance_destroyed(instance);
        real()
    }
}
