//! CUDA graphs: captures, explicit nodes, instances and launches.

use super::interposed;
use super::refused::unless_probed;
use crate::cuda::ffi::{
    self, Error, Event, Graph, GraphExec, GraphNode, HostNodeParameters, InstantiateParameters,
    KernelNodeParameters, MemsetParameters, NodeParameters, Stream,
};
use crate::cuda::real;
use crate::model::own_nodes;
use crate::recorder::graph_launch::{launch, twice};
use crate::recorder::graph_nodes::{add_kernel, kernel_in, set_parameters};
use crate::recorder::runtime::runtime;
use std::ffi::{c_int, c_uint, c_void};

type Nodes = *const GraphNode;

fn slice<'a>(nodes: Nodes, count: usize) -> &'a [GraphNode] {
    if nodes.is_null() {
        return &[];
    }
    // SAFETY: the program gives so many handles.
    unsafe { std::slice::from_raw_parts(nodes, count) }
}

fn began(error: Error) -> Error {
    if error == ffi::SUCCESS {
        runtime().graphs.capture_began();
    }
    error
}

fn instantiated(error: Error, instance: *mut GraphExec, graph: Graph, flags: u64) -> Error {
    if error == ffi::SUCCESS && !instance.is_null() {
        // SAFETY: the runtime has just written the handle there.
        does(unsafe { *instance }, graph);
    }
    if flags & ffi::GRAPH_DEVICE_LAUNCH != 0 && runtime().is_probed() {
        runtime().session.fault(
            "a CUDA graph may be launched from the device (cudaGraphInstantiateFlagDeviceLaunch); such launches cannot be traced",
        );
    }
    error
}

/// An instance was made of `graph`, or made to do the same.
fn does(instance: GraphExec, graph: Graph) {
    let runtime = runtime();
    runtime.graphs.instantiated(instance, graph);
    runtime.in_situ.instantiated(runtime, instance, graph);
}

/// A node of an instance was changed; `set` changes a node of ours in the same way.
fn changed(
    error: Error,
    instance: GraphExec,
    node: GraphNode,
    set: impl FnOnce(GraphNode) -> Error,
) -> Error {
    runtime().in_situ.memory_changed(error, instance, node, set)
}

/// Passes a change of an instance on, unless its nodes are run one by one.
fn unless_in_situ(what: &str, real: impl FnOnce() -> Error) -> Error {
    let runtime = runtime();
    if !runtime.in_situ.is_wanted(runtime) {
        return real();
    }
    runtime.session.fault(format!(
        "{what} is not supported with --in-situ; instantiate the changed CUDA graph instead, or trace the program"
    ));
    ffi::NOT_SUPPORTED
}

/// A graph inside an instance is replaced, which a trace does not follow.
fn child_changed(
    what: &str,
    instance: GraphExec,
    node: GraphNode,
    real: impl FnOnce() -> Error,
) -> Error {
    let what = format!("a change of a graph inside an instance ({what})");
    unless_in_situ(&what, || {
        changed(real(), instance, node, |_| ffi::NOT_SUPPORTED)
    })
}

fn add_child(graph: Graph, child: Graph, real: impl FnOnce() -> Error) -> Error {
    let graphs = &runtime().graphs;
    let nodes = graphs.of_graph(child);
    if !graphs.extend(graph, &nodes) {
        return twice(runtime());
    }
    real()
}

fn real_add_kernel(
    handle: *mut GraphNode,
    graph: Graph,
) -> impl Fn(Nodes, usize, &KernelNodeParameters) -> Error {
    move |nodes, count, parameters| {
        // SAFETY: the program's own handles, and parameters that live during the call.
        unsafe { real::graph_add_kernel(handle, graph, nodes, count, parameters) }
    }
}

/// A node of any kind; `real` adds it as it is.
fn add_node(
    handle: *mut GraphNode,
    graph: Graph,
    dependencies: &[GraphNode],
    has_edges: bool,
    parameters: *mut NodeParameters,
    real: impl FnOnce() -> Error,
) -> Error {
    // SAFETY: the program gives parameters, or null.
    let Some(parameters) = (unsafe { parameters.as_ref() }) else {
        return real();
    };
    match parameters.kind {
        ffi::NODE_KERNEL if has_edges => unless_probed(
            "a kernel in a CUDA graph with edges of a special kind (cudaGraphEdgeData)",
            real,
        ),
        ffi::NODE_KERNEL => add_kernel(
            handle,
            graph,
            dependencies,
            &kernel_in(parameters),
            real_add_kernel(handle, graph),
        ),
        ffi::NODE_GRAPH => add_child(graph, parameters.of_kind[0] as usize as Graph, real),
        ffi::NODE_CONDITIONAL => unless_probed(
            "a conditional node in a CUDA graph (cudaGraphAddNode)",
            real,
        ),
        _ => real(),
    }
}

interposed! {
    [cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz: true](stream: Stream, mode: c_int) |real| {
        began(real())
    }
    [cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_ptsz: true](
        stream: Stream, graph: Graph, dependencies: Nodes, edges: *const c_void, count: usize, mode: c_int,
    ) |real, per_thread| {
        let runtime = runtime();
        let number = runtime.stream(stream, per_thread);
        runtime.graphs.forget_captured_lane(graph, number);
        began(real())
    }
    [cudaStreamEndCapture, cudaStreamEndCapture_ptsz: true](stream: Stream, graph: *mut Graph) |real| {
        runtime().graphs.capture_ended();
        real()
    }
    [cudaGraphAddKernelNode](
        node: *mut GraphNode, graph: Graph, dependencies: Nodes, count: usize, parameters: *const KernelNodeParameters,
    ) |real| {
        // SAFETY: the program gives parameters, or null.
        match unsafe { parameters.as_ref() } {
            Some(parameters) if !node.is_null() => {
                add_kernel(node, graph, slice(dependencies, count), parameters, real_add_kernel(node, graph))
            }
            _ => real(),
        }
    }
    [cudaGraphAddNode](
        node: *mut GraphNode, graph: Graph, dependencies: Nodes, count: usize, parameters: *mut NodeParameters,
    ) |real| {
        add_node(node, graph, slice(dependencies, count), false, parameters, real)
    }
    [cudaGraphAddNode_v2](
        node: *mut GraphNode, graph: Graph, dependencies: Nodes, edge_data: *const c_void, count: usize,
        parameters: *mut NodeParameters,
    ) |real| {
        add_node(node, graph, slice(dependencies, count), !edge_data.is_null(), parameters, real)
    }
    [cudaGraphAddChildGraphNode](node: *mut GraphNode, graph: Graph, dependencies: Nodes, count: usize, child: Graph)
    |real| {
        add_child(graph, child, real)
    }
    [cudaGraphClone](clone: *mut Graph, graph: Graph) |real| {
        let error = real();
        if error == ffi::SUCCESS && !clone.is_null() {
            // SAFETY: the runtime has just written the handle there.
            runtime().graphs.cloned(unsafe { *clone }, graph);
        }
        error
    }
    [cudaGraphKernelNodeSetParams](node: GraphNode, parameters: *const KernelNodeParameters) |real with parameters| {
        set_parameters(node, parameters, real)
    }
    [cudaGraphExecKernelNodeSetParams](instance: GraphExec, node: GraphNode, parameters: *const KernelNodeParameters)
    |real with parameters| {
        set_parameters(node, parameters, |parameters| {
            let error = real(parameters);
            // SAFETY: the caller gives parameters, or null.
            match unsafe { parameters.as_ref() } {
                Some(given) => runtime().in_situ.kernel_changed(error, instance, node, given),
                None => error,
            }
        })
    }
    [cudaGraphExecMemcpyNodeSetParams](instance: GraphExec, node: GraphNode, parameters: *const c_void) |real| {
        changed(real(), instance, node, |own| {
            // SAFETY: the program's own parameters, which the real function has accepted.
            unsafe { real::graph_set_memcpy(own, parameters) }
        })
    }
    [cudaGraphExecMemcpyNodeSetParams1D](
        instance: GraphExec, node: GraphNode, to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int,
    ) |real| {
        changed(real(), instance, node, |own| {
            // SAFETY: as above.
            unsafe { real::graph_set_memcpy_1d(own, to, from, bytes, kind) }
        })
    }
    [cudaGraphExecMemcpyNodeSetParamsToSymbol](
        instance: GraphExec, node: GraphNode, symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |real| {
        changed(real(), instance, node, |own| {
            // SAFETY: as above.
            unsafe { real::graph_set_memcpy_to_symbol(own, symbol, from, bytes, offset, kind) }
        })
    }
    [cudaGraphExecMemcpyNodeSetParamsFromSymbol](
        instance: GraphExec, node: GraphNode, to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |real| {
        changed(real(), instance, node, |own| {
            // SAFETY: as above.
            unsafe { real::graph_set_memcpy_from_symbol(own, to, symbol, bytes, offset, kind) }
        })
    }
    [cudaGraphExecMemsetNodeSetParams](instance: GraphExec, node: GraphNode, parameters: *const MemsetParameters) |real| {
        changed(real(), instance, node, |own| {
            // SAFETY: as above.
            unsafe { real::graph_set_memset(own, parameters) }
        })
    }
    [cudaGraphExecHostNodeSetParams](instance: GraphExec, node: GraphNode, parameters: *const HostNodeParameters) |real| {
        let error = real();
        // SAFETY: the program gives parameters, or null.
        match unsafe { parameters.as_ref() } {
            Some(&given) => runtime().in_situ.host_changed(error, instance, node, given),
            None => error,
        }
    }
    [cudaGraphNodeSetEnabled](instance: GraphExec, node: GraphNode, enabled: c_uint) |real| {
        runtime().in_situ.enabled(real(), instance, node, enabled != 0)
    }
    [cudaGraphExecChildGraphNodeSetParams](instance: GraphExec, node: GraphNode, child: Graph) |real| {
        child_changed("cudaGraphExecChildGraphNodeSetParams", instance, node, real)
    }
    [cudaGraphExecEventRecordNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent](
        instance: GraphExec, node: GraphNode, event: Event,
    ) |real| {
        unless_in_situ("a change of an event's node in an instance (cudaGraphExecEventRecordNodeSetEvent or …Wait…)", real)
    }
    [cudaGraphExecNodeSetParams](instance: GraphExec, node: GraphNode, parameters: *mut NodeParameters) |real| {
        let what = "cudaGraphExecNodeSetParams";
        // SAFETY: the program gives parameters, or null.
        match unsafe { parameters.as_ref() }.map(|given| given.kind) {
            // SAFETY: the program's own parameters, which the real function has accepted.
            Some(ffi::NODE_COPY | ffi::NODE_FILL) => changed(real(), instance, node, |own| unsafe {
                real::graph_set(own, parameters)
            }),
            Some(ffi::NODE_GRAPH) => child_changed(what, instance, node, real),
            _ => unless_in_situ(&format!("a change of a node of an instance by {what}"), real),
        }
    }
    [cudaGraphNodeSetParams](node: GraphNode, parameters: *mut NodeParameters) |real| {
        // SAFETY: the program gives parameters, or null.
        match unsafe { parameters.as_ref() }.map(|given| given.kind) {
            Some(ffi::NODE_KERNEL) => unless_in_situ("a change of a kernel's node by cudaGraphNodeSetParams", real),
            _ => real(),
        }
    }
    [cudaGraphGetNodes, cudaGraphGetRootNodes](graph: Graph, nodes: *mut GraphNode, count: *mut usize)
    |real with nodes count| {
        own_nodes::nodes(nodes, count, real)
    }
    [cudaGraphGetEdges](graph: Graph, from: *mut GraphNode, to: *mut GraphNode, count: *mut usize) |real with from to count| {
        own_nodes::edges([from, to], std::ptr::null_mut(), count, |[from, to], _, count| real(from, to, count))
    }
    [cudaGraphGetEdges_v2](
        graph: Graph, from: *mut GraphNode, to: *mut GraphNode, data: *mut u64, count: *mut usize,
    ) |real with from to data count| {
        own_nodes::edges([from, to], data, count, |[from, to], data, count| real(from, to, data, count))
    }
    [cudaGraphNodeGetDependencies, cudaGraphNodeGetDependentNodes](
        node: GraphNode, nodes: *mut GraphNode, count: *mut usize,
    ) |real with node nodes count| {
        own_nodes::neighbours(node, nodes, std::ptr::null_mut(), count, |node, nodes, _, count| real(node, nodes, count))
    }
    [cudaGraphNodeGetDependencies_v2, cudaGraphNodeGetDependentNodes_v2](
        node: GraphNode, nodes: *mut GraphNode, data: *mut u64, count: *mut usize,
    ) |real with node nodes data count| {
        own_nodes::neighbours(node, nodes, data, count, real)
    }
    [cudaGraphDestroyNode](node: GraphNode) |real| {
        let known = runtime().graphs.node_destroyed(node);
        for own in known.into_iter().flat_map(|known| known.own) {
            // SAFETY: the nodes around the kernel are ours, and nobody else knows them.
            unsafe { real::graph_destroy_node(own as GraphNode) };
        }
        real()
    }
    [cudaGraphInstantiate, cudaGraphInstantiateWithFlags](instance: *mut GraphExec, graph: Graph, flags: u64) |real| {
        instantiated(real(), instance, graph, flags)
    }
    [cudaGraphInstantiateWithParams, cudaGraphInstantiateWithParams_ptsz: true](
        instance: *mut GraphExec, graph: Graph, parameters: *mut InstantiateParameters,
    ) |real| {
        // SAFETY: the program gives parameters, or null.
        let flags = unsafe { parameters.as_ref() }.map_or(0, |parameters| parameters.flags);
        instantiated(real(), instance, graph, flags)
    }
    [cudaGraphExecUpdate](instance: GraphExec, graph: Graph, result: *mut c_void) |real| {
        let error = real();
        if error == ffi::SUCCESS {
            does(instance, graph);
        }
        error
    }
    [cudaGraphLaunch, cudaGraphLaunch_ptsz: true](instance: GraphExec, stream: Stream) |real, per_thread| {
        launch(instance, stream, per_thread, real)
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
