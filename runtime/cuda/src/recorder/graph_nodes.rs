//! Explicit kernel nodes of CUDA graphs.

use crate::cuda::ffi::{self, Dim3, Error, Graph, GraphNode, KernelNodeParameters};
use crate::cuda::real;
use crate::model::graphs::{CountedNode, Known, Node, Work};
use crate::model::modules::Kernel;
use crate::recorder::graph_launch::{NO_CHILDREN, NO_PROBES, counted_node, counts_are_there};
use crate::recorder::in_situ;
use crate::recorder::launch::{cannot, geometry, with_trailing};
use crate::recorder::runtime::runtime;
use crate::recorder::selection;
use parking_lot::Mutex;
use std::ffi::c_void;
use std::sync::Arc;
use superstep_trace::{OpaqueGeometry, Probe};

const IN_ONE_BLOCK: &str =
    "its arguments come in one block (extra); give one pointer for each of them (kernelParams)";

/// Hands `run` the parameters of a kernel with its two trailing arguments.
fn with_arguments(
    kernel: &Kernel,
    parameters: &KernelNodeParameters,
    trailing: [u64; 2],
    run: impl FnOnce(&KernelNodeParameters) -> Error,
) -> Error {
    with_trailing(kernel, parameters.arguments, trailing, |arguments| {
        run(&KernelNodeParameters {
            arguments,
            ..*parameters
        })
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
    let add = |nodes: &[GraphNode], parameters: &KernelNodeParameters| {
        real(nodes.as_ptr(), nodes.len(), parameters)
    };
    if runtime.device().is_none() {
        return add(dependencies, parameters);
    }
    let kernel = runtime.kernel(parameters.function.cast_const());
    let Some(kernel) = kernel.filter(|kernel| kernel.probe.is_some()) else {
        let error = add(dependencies, parameters);
        if error == ffi::SUCCESS {
            let (grid, block) = (parameters.grid.into(), parameters.block.into());
            let name = (runtime.kernel(parameters.function.cast_const())).map(|k| k.name.clone());
            let node = Arc::new(crate::recorder::opaque::node(
                name,
                OpaqueGeometry { grid, block },
            ));
            // SAFETY: the program gives room for a handle, which `add` has filled.
            let added = unsafe { *handle };
            (runtime.graphs).add(graph, Some(added), Vec::new(), node);
        }
        return error;
    };
    match add_known(handle, graph, dependencies, parameters, &kernel, add) {
        Ok(error) => {
            runtime.hook_exit();
            error
        }
        Err(error) => cannot(runtime, &kernel.name, &error),
    }
}

fn add_known(
    handle: *mut GraphNode,
    graph: Graph,
    dependencies: &[GraphNode],
    parameters: &KernelNodeParameters,
    kernel: &Arc<Kernel>,
    add: impl Fn(&[GraphNode], &KernelNodeParameters) -> Error,
) -> Result<Error, String> {
    let runtime = runtime();
    if kernel.launches {
        return Err(NO_CHILDREN.to_owned());
    }
    let probed = matches!(kernel.probe, Some(Probe::Trace | Probe::Count));
    if probed && !parameters.extra.is_null() {
        return Err(IN_ONE_BLOCK.to_owned());
    }
    // What follows a kernel of ours follows its flush: the lane is then free.
    let tails = dependencies
        .iter()
        .map(|&node| match runtime.graphs.node(node) {
            Some(Known { own, .. }) => own.last().map_or(node, |&tail| tail as GraphNode),
            None => node,
        });
    let tails: Vec<GraphNode> = tails.collect();
    let after = |nodes: &[GraphNode], trailing| {
        with_arguments(kernel, parameters, trailing, |parameters| {
            add(nodes, parameters)
        })
    };
    // SAFETY: the program gives room for a handle, which `add` fills.
    let added = || unsafe { *handle };
    let bits = selection::launch_bits(runtime.session.recorded_in_graphs(&kernel.name));
    let mut own = Vec::new();
    let (work, error) = match kernel.probe {
        Some(Probe::Trace) if runtime.in_situ.is_wanted(runtime) => {
            runtime.note_variables(kernel);
            (Work::Plain, after(dependencies, in_situ::NOT_YET))
        }
        Some(Probe::Trace) => {
            runtime.note_variables(kernel);
            let lane = match runtime.graphs.take_chain(graph, &tails) {
                Some(lane) => lane,
                None => runtime.graph_lane()?,
            };
            let error = after(&tails, [lane.context, lane.parameter | bits]);
            if error == ffi::SUCCESS
                && let Some(flush) = &lane.flush
            {
                let tail = flush.add_to(graph, added())?;
                own.push(tail as usize);
                runtime.graphs.set_chain(graph, tail, lane.clone());
            }
            (Work::Traced(lane), error)
        }
        Some(Probe::Count) => {
            let counted = counted_node(runtime)?;
            match add_counted(graph, &tails, counted, bits, added, after) {
                Ok(around) => own.extend(around),
                Err(error) => return Ok(error),
            }
            (Work::Counted(counted), ffi::SUCCESS)
        }
        Some(Probe::Defined) => return Err(NO_PROBES.to_owned()),
        Some(Probe::None) | None => (Work::Plain, add(dependencies, parameters)),
    };
    if error == ffi::SUCCESS {
        let (grid, block) = (parameters.grid, parameters.block);
        let geometry = geometry(kernel, grid, block, parameters.shared_bytes as usize);
        let node = Node {
            kernel: kernel.clone(),
            geometry: Mutex::new(geometry),
            work,
        };
        runtime
            .graphs
            .add(graph, Some(added()), own, Arc::new(node));
    }
    Ok(error)
}

/// Adds a kernel with the counting probe, and the nodes around it, which it returns.
fn add_counted(
    graph: Graph,
    dependencies: &[GraphNode],
    counted: &'static CountedNode,
    bits: u64,
    added: impl Fn() -> GraphNode,
    kernel: impl FnOnce(&[GraphNode], [u64; 2]) -> Error,
) -> Result<[usize; 3], Error> {
    let ok = |error: Error| match error {
        ffi::SUCCESS => Ok(()),
        error => Err(error),
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
    ok(kernel(&[clear], [counted.counters.context, bits]))?;
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
    Ok([clear, copy, tail].map(|node| node as usize))
}

/// The program changes the parameters of a kernel's node, in a graph or in an instance of it.
pub fn set_parameters(
    handle: GraphNode,
    parameters: *const KernelNodeParameters,
    real: impl FnOnce(*const KernelNodeParameters) -> Error,
) -> Error {
    // SAFETY: the program gives parameters, or null.
    let given = unsafe { parameters.as_ref() };
    if let Some(given) = given.filter(|_| runtime().in_situ.is_wanted(runtime())) {
        return set_in_situ(given, real);
    }
    let (Some(known), Some(given)) = (runtime().graphs.node(handle), given) else {
        return real(parameters);
    };
    let kernel = &known.node.kernel;
    let bits = selection::launch_bits(runtime().session.recorded_in_graphs(&kernel.name));
    let trailing = match &known.node.work {
        Work::Traced(lane) => [lane.context, lane.parameter | bits],
        Work::Counted(counted) => [counted.counters.context, bits],
        Work::Plain | Work::Opaque => return real(parameters),
    };
    let other = runtime().kernel(given.function.cast_const());
    if other.is_none_or(|other| other.name != kernel.name) {
        runtime().session.fault(format!(
            "failed to replace kernel {} in a CUDA graph: a traced program cannot do that; add a node for the other kernel instead",
            kernel.name
        ));
        return ffi::NOT_SUPPORTED;
    }
    let error = with_arguments(kernel, given, trailing, |parameters| real(parameters));
    if error == ffi::SUCCESS {
        let mut geometry = known.node.geometry.lock();
        geometry.grid = given.grid.into();
        geometry.block = given.block.into();
        geometry.dynamic_shared_bytes = u64::from(given.shared_bytes);
    }
    error
}

/// A kernel's trailing arguments are set when it runs.
fn set_in_situ(
    given: &KernelNodeParameters,
    real: impl FnOnce(*const KernelNodeParameters) -> Error,
) -> Error {
    let kernel = runtime().kernel(given.function.cast_const());
    let Some(kernel) = kernel.filter(|kernel| kernel.probe == Some(Probe::Trace)) else {
        return real(given);
    };
    let refused = if kernel.launches {
        NO_CHILDREN
    } else if !given.extra.is_null() {
        IN_ONE_BLOCK
    } else {
        let later = in_situ::NOT_YET;
        return with_arguments(&kernel, given, later, |parameters| real(parameters));
    };
    cannot(runtime(), &kernel.name, refused)
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

const _: () = assert!(size_of::<KernelNodeParameters>() == 56 && size_of::<Dim3>() == 12);
