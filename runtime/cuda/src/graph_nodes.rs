//! Explicit kernel nodes of CUDA graphs.

use crate::ffi::{self, Error, Graph, GraphNode, KernelNodeParameters, dim3};
use crate::graph_launch::{counted_node, counts_are_there};
use crate::graphs::{CountedNode, Known, Node, Work};
use crate::launch::{Call, untraced};
use crate::modules::Kernel;
use crate::real;
use crate::runtime::runtime;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};
use superstep_trace::Probe;

/// The kernel's arguments with the two trailing ones, handed to `run` as the interface takes them.
fn with_trailing(
    kernel: &Kernel,
    parameters: &KernelNodeParameters,
    trailing: (u64, u64),
    run: impl FnOnce(&KernelNodeParameters) -> Error,
) -> Error {
    let (mut context, mut launch) = trailing;
    let mut arguments = Vec::with_capacity(kernel.parameters + 2);
    if !parameters.arguments.is_null() {
        // SAFETY: the program gives one pointer for each of the kernel's own parameters.
        arguments.extend_from_slice(unsafe {
            std::slice::from_raw_parts(parameters.arguments, kernel.parameters)
        });
    }
    arguments.push((&raw mut context).cast());
    arguments.push((&raw mut launch).cast());
    run(&KernelNodeParameters {
        arguments: arguments.as_mut_ptr(),
        ..*parameters
    })
}

/// Adds a kernel of the program's to a graph, with what its probe needs around it; answers its node in `handle`. `real` adds a
/// kernel as it is.
pub fn add_kernel(
    handle: *mut GraphNode,
    graph: Graph,
    dependencies: &[GraphNode],
    parameters: &KernelNodeParameters,
    real: impl Fn(*const GraphNode, usize, &KernelNodeParameters) -> Error,
) -> Error {
    let runtime = runtime();
    let plain = |parameters: &KernelNodeParameters| {
        real(dependencies.as_ptr(), dependencies.len(), parameters)
    };
    let (Some(_), Some(kernel)) = (
        runtime.device(),
        runtime.kernel(parameters.function.cast_const()),
    ) else {
        return plain(parameters);
    };
    let call = Call {
        function: parameters.function,
        grid: parameters.grid,
        block: parameters.block,
        arguments: parameters.arguments,
        shared_bytes: parameters.shared_bytes as usize,
        stream: std::ptr::null_mut(),
        per_thread: false,
        is_plain: false,
        launch: &|_| ffi::NOT_SUPPORTED,
    };
    let probed = matches!(kernel.probe, Some(Probe::Trace | Probe::Count));
    if probed && !parameters.extra.is_null() {
        return call.cannot(
            runtime,
            &kernel.name,
            "its arguments come in one block (extra); give one pointer for each of them (kernelParams)",
        );
    }
    // What follows a kernel of ours follows its flush: the lane is then free.
    let tails: Vec<GraphNode> = dependencies
        .iter()
        .map(|&node| match runtime.graphs.node(node) {
            Some(Known { tail, .. }) if tail != 0 => tail as GraphNode,
            _ => node,
        })
        .collect();
    let after = |nodes: &[GraphNode], trailing, parameters: &KernelNodeParameters| {
        with_trailing(&kernel, parameters, trailing, |parameters| {
            real(nodes.as_ptr(), nodes.len(), parameters)
        })
    };
    // SAFETY: the program gives room for a handle, which `real` fills.
    let added = || unsafe { *handle };
    let (work, error, tail) = match kernel.probe {
        Some(Probe::Trace) => {
            runtime.note_variables(&kernel);
            let lane = match runtime.graphs.take_chain(graph, &tails) {
                Some(lane) => Ok(lane),
                None => runtime.graph_lane(),
            };
            let lane = match lane {
                Ok(lane) => lane,
                Err(error) => return call.cannot(runtime, &kernel.name, &error),
            };
            let error = after(&tails, (lane.context, lane.parameter), parameters);
            let mut tail = std::ptr::null_mut();
            if error == ffi::SUCCESS
                && let Some(flush) = &lane.flush
            {
                match flush.add_to(graph, added()) {
                    Ok(node) => tail = node,
                    Err(error) => return call.cannot(runtime, &kernel.name, &error),
                }
                runtime.graphs.set_chain(graph, tail, lane.clone());
            }
            (Work::Traced(lane), error, tail)
        }
        Some(Probe::Count) => match counted_node(runtime) {
            Ok(counted) => {
                let error = add_counted(graph, &tails, counted, added, |nodes, trailing| {
                    after(nodes, trailing, parameters)
                });
                match error {
                    Ok(tail) => (Work::Counted(counted), ffi::SUCCESS, tail),
                    Err(error) => return error,
                }
            }
            Err(error) => return call.cannot(runtime, &kernel.name, &error),
        },
        Some(Probe::Defined) => {
            let error = "probes do not work in CUDA graphs; launch the kernel into a stream";
            return call.cannot(runtime, &kernel.name, error);
        }
        Some(Probe::None) | None => {
            untraced(runtime, &kernel);
            (Work::Plain, plain(parameters), std::ptr::null_mut())
        }
    };
    if error == ffi::SUCCESS {
        let geometry = Mutex::new(call.geometry(&kernel));
        let node = Node {
            kernel,
            geometry,
            work,
        };
        runtime
            .graphs
            .add(graph, Some(added()), tail, Arc::new(node));
    }
    runtime.hook_exit();
    error
}

/// The nodes around a kernel with the counting probe; answers the last one.
fn add_counted(
    graph: Graph,
    dependencies: &[GraphNode],
    counted: &'static CountedNode,
    added: impl Fn() -> GraphNode,
    kernel: impl FnOnce(&[GraphNode], (u64, u64)) -> Error,
) -> Result<GraphNode, Error> {
    let ok = |error: Error| {
        if error == ffi::SUCCESS {
            Ok(())
        } else {
            Err(error)
        }
    };
    let (to, bytes) = counted.counters.memory();
    let fill = ffi::MemsetParameters {
        to,
        pitch: bytes,
        value: 0,
        element_bytes: 1,
        width: bytes,
        height: 1,
    };
    let mut clear = std::ptr::null_mut();
    let (first, count) = (dependencies.as_ptr(), dependencies.len());
    // SAFETY: the nodes are the graph's, and the memory is the counters'.
    ok(unsafe { real::graph_add_memset(&mut clear, graph, first, count, &fill) })?;
    ok(kernel(&[clear], (counted.counters.context, 0)))?;
    let (before, mut copy) = (added(), std::ptr::null_mut());
    let slot = counted.slot.host as *mut c_void;
    // SAFETY: the slot is as large as the counters.
    ok(unsafe {
        real::graph_add_memcpy(
            &mut copy,
            graph,
            &before,
            1,
            slot,
            to,
            bytes,
            ffi::DEVICE_TO_HOST,
        )
    })?;
    let host = ffi::HostNodeParameters {
        function: counts_are_there,
        data: std::ptr::from_ref(counted).cast_mut().cast(),
    };
    let mut tail = std::ptr::null_mut();
    // SAFETY: the function's argument lives for ever.
    ok(unsafe { real::graph_add_host(&mut tail, graph, &copy, 1, &host) })?;
    Ok(tail)
}

/// The program changes the parameters of a kernel's node, in a graph or in an instance of it.
pub fn set_parameters(
    handle: GraphNode,
    parameters: &KernelNodeParameters,
    real: impl FnOnce(&KernelNodeParameters) -> Error,
) -> Error {
    let Some(known) = runtime().graphs.node(handle) else {
        return real(parameters);
    };
    let trailing = match &known.node.work {
        Work::Traced(lane) => (lane.context, lane.parameter),
        Work::Counted(counted) => (counted.counters.context, 0),
        Work::Plain => return real(parameters),
    };
    let kernel = &known.node.kernel;
    let other = runtime().kernel(parameters.function.cast_const());
    if other.is_none_or(|other| other.name != kernel.name) {
        runtime().session.fault(format!(
            "failed to replace kernel {} in a CUDA graph: a traced program cannot do that; add a node for the other kernel instead",
            kernel.name
        ));
        return ffi::NOT_SUPPORTED;
    }
    let error = with_trailing(kernel, parameters, trailing, real);
    if error == ffi::SUCCESS {
        let mut geometry = known
            .node
            .geometry
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        geometry.grid = parameters.grid.into();
        geometry.block = parameters.block.into();
        geometry.dynamic_shared_bytes = u64::from(parameters.shared_bytes);
    }
    error
}

/// Parameters of a kernel's node inside `cudaGraphNodeParams`: the fields come in the same order.
pub fn kernel_in(parameters: &ffi::NodeParameters) -> KernelNodeParameters {
    // SAFETY: the union's largest member is larger than the structure, which is plain data; its alignment is that of 64-bit words.
    unsafe {
        parameters
            .of_kind
            .as_ptr()
            .cast::<KernelNodeParameters>()
            .read()
    }
}

const _: () = assert!(size_of::<KernelNodeParameters>() == 56 && size_of::<dim3>() == 12);
