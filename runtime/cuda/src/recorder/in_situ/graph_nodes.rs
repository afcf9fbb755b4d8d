//! What the nodes of a CUDA graph hold, and nodes in graphs of their own.

use crate::cuda::driver;
use crate::cuda::ffi::{
    self, Error, Graph, GraphExec, GraphNode, HostNodeParameters, KernelNodeParameters,
    MemsetParameters, Stream,
};
use crate::cuda::real::{self, answer, check};
use crate::interpose::Copy3d;
use crate::model::graphs::Node;
use crate::recorder::opaque;
use crate::recorder::runtime::Runtime;
use std::collections::HashSet;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// A node in a graph of its own, and an instance of that if it is to run.
pub struct Alone {
    graph: usize,
    node: usize,
    instance: usize,
}

impl Alone {
    /// `add` puts the node into a graph.
    pub fn new(
        runs: bool,
        add: impl FnOnce(&mut GraphNode, Graph) -> Error,
    ) -> Result<Self, String> {
        let what = "set a node of a CUDA graph apart";
        // SAFETY: the pointer leads to a handle.
        let graph = answer(what, null_mut(), |graph| unsafe {
            real::graph_create(graph, 0)
        })?;
        let mut alone = Alone {
            graph: graph as usize,
            node: 0,
            instance: 0,
        };
        alone.node = answer(what, null_mut(), |node| add(node, graph))? as usize;
        if runs {
            // SAFETY: the pointer leads to a handle; the graph was made above.
            let instantiate = |place: &mut _| unsafe { real::graph_instantiate(place, graph, 0) };
            alone.instance = answer(what, null_mut(), instantiate)? as usize;
        }
        Ok(alone)
    }

    pub fn node(&self) -> GraphNode {
        self.node as GraphNode
    }

    pub fn launch(&self, stream: Stream) -> Error {
        // SAFETY: the instance lives as long as this.
        unsafe { real::graph_launch(self.instance as GraphExec, stream) }
    }

    /// The kernel gets other arguments in launches that come from now on.
    pub fn change(&self, parameters: &driver::KernelNodeParameters) -> Error {
        let instance = self.instance as GraphExec;
        // SAFETY: the instance is ours; the driver copies the arguments.
        unsafe { driver::graph_change_kernel(instance, self.node(), parameters) }
    }

    /// The instance does what the graph says now.
    pub fn update(&self) -> Error {
        if self.instance == 0 {
            return ffi::SUCCESS;
        }
        let mut result = ffi::UpdateResult {
            result: 0,
            nodes: [null_mut(); 2],
        };
        let (instance, graph) = (self.instance as GraphExec, self.graph as Graph);
        // SAFETY: both live as long as this; the pointer leads to the structure.
        unsafe { real::graph_update(instance, graph, &mut result) }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // SAFETY: both are ours. An instance that still runs is freed when it has ended.
        unsafe {
            if self.instance != 0 {
                real::graph_instance_destroy(self.instance as GraphExec);
            }
            real::graph_destroy(self.graph as Graph);
        }
    }
}

/// What `ask` fills; an error of the driver's has the runtime's number.
fn filled<T>(what: &str, ask: impl FnOnce(*mut T) -> Error) -> Result<T, String> {
    let mut place = MaybeUninit::zeroed();
    check(ask(place.as_mut_ptr()), what)?;
    // SAFETY: the call has filled the structure.
    Ok(unsafe { place.assume_init() })
}

pub fn kernel_of(node: GraphNode) -> Result<driver::KernelNodeParameters, String> {
    // SAFETY: the node is a kernel's; the pointer leads to the structure.
    let ask = |place| unsafe { driver::graph_kernel(node, place) };
    filled("read a kernel's node of a CUDA graph", ask)
}

pub fn copy_of(node: GraphNode) -> Result<Copy3d, String> {
    // SAFETY: the node is a copy's; the pointer leads to the structure.
    let ask = |place| unsafe { driver::graph_memcpy(node, place) };
    filled("read a copy's node of a CUDA graph", ask)
}

pub fn fill_of(node: GraphNode) -> Result<MemsetParameters, String> {
    // SAFETY: the node is a fill's; the pointer leads to the structure.
    let ask = |place| unsafe { real::graph_memset(node, place) };
    filled("read a fill's node of a CUDA graph", ask)
}

pub fn host_of(node: GraphNode) -> Result<HostNodeParameters, String> {
    // SAFETY: the node is a host function's; the pointer leads to the structure, in which the runtime puts a function.
    unsafe {
        let mut place = MaybeUninit::uninit();
        let error = real::graph_host(node, place.as_mut_ptr());
        check(error, "read a host function's node of a CUDA graph")?;
        Ok(place.assume_init())
    }
}

pub fn event(
    node: GraphNode,
    ask: unsafe fn(GraphNode, *mut ffi::Event) -> Error,
) -> Result<usize, String> {
    // SAFETY: the node is an event's; the pointer leads to a handle.
    let ask = |place: &mut _| unsafe { ask(node, place) };
    Ok(answer("read an event's node of a CUDA graph", null_mut(), ask)? as usize)
}

pub fn add_copy(node: &mut GraphNode, graph: Graph, copy: &Copy3d) -> Error {
    let mut context = null_mut();
    // SAFETY: the pointers lead to handles; the graph is ours, and the copy is that of another node.
    unsafe {
        match driver::current_context(&mut context) {
            ffi::SUCCESS => driver::graph_add_memcpy(node, graph, null(), 0, copy, context),
            error => error,
        }
    }
}

/// A kernel alone, and what [`function_of`] answers.
pub fn add_kernel(
    runtime: &Runtime,
    node: GraphNode,
    known: &[Arc<Node>],
) -> Result<(Alone, usize), String> {
    let of_node = kernel_of(node)?;
    let add = |own: &mut GraphNode, graph| {
        let driver = driver::driver().map_err(|_| ffi::SYMBOL_NOT_FOUND);
        // SAFETY: the graph is ours; the driver copies the arguments, which are those of the other node.
        driver.map_or_else(
            |error| error,
            |driver| unsafe {
                match (driver.graph_add_kernel)(own, graph, null(), 0, &of_node) {
                    ffi::SUCCESS => driver::graph_copy_attributes(*own, node),
                    error => error,
                }
            },
        )
    };
    let function = function_of(runtime, node, &of_node, known);
    Ok((Alone::new(true, add)?, function))
}

/// What the runtime library knows the kernel of a node by, if it is one of the program's; else the driver's handle.
fn function_of(
    runtime: &Runtime,
    node: GraphNode,
    of_node: &driver::KernelNodeParameters,
    known: &[Arc<Node>],
) -> usize {
    // SAFETY: the node is a kernel's; the pointer leads to the structure.
    let ask = |place: *mut KernelNodeParameters| unsafe { real::graph_kernel(node, place) };
    let handle = match of_node.function.is_null() {
        true => of_node.kernel,
        false => of_node.function,
    };
    match filled("", ask) {
        Ok(given) if runtime.kernel(given.function).is_some() => return given.function as usize,
        Ok(_) => {}
        // It does not know kernels of the driver's; the program must not see a failure of ours.
        // SAFETY: no arguments.
        Err(_) => drop(unsafe { real::get_last_error() }),
    }
    if runtime.kernel(handle).is_none()
        && let Some(name) = opaque::name_of(handle)
        && let Some(node) =
            (known.iter()).find(|node| node.kernel.stub != 0 && node.kernel.name == name)
    {
        return node.kernel.stub;
    }
    handle as usize
}

/// The mangled name of a node's kernel, where one is known.
fn name_of(runtime: &Runtime, node: GraphNode) -> Option<String> {
    let of_node = kernel_of(node).ok()?;
    let function = function_of(runtime, node, &of_node, &[]) as *const c_void;
    match runtime.kernel(function) {
        Some(kernel) => Some(kernel.name.clone()),
        None => opaque::name_of(function),
    }
}

/// Handles in graphs inside a graph, and in most clones, are not known: the first kernel of the node's name. Launches in one lane keep
/// their order, by which the device numbers them.
pub fn take_by_name(
    runtime: &Runtime,
    node: GraphNode,
    known: &mut Vec<Arc<Node>>,
) -> Option<Arc<Node>> {
    let name = name_of(runtime, node).unwrap_or_default();
    let mut before = HashSet::new();
    let is_one = |it: &Arc<Node>| {
        let is_first = it
            .lane()
            .is_none_or(|lane| before.insert(Arc::as_ptr(lane)));
        is_first && it.kernel.name == name
    };
    let place = known.iter().position(is_one)?;
    Some(known.remove(place))
}

/// All nodes of a graph.
pub fn nodes_of(graph: Graph) -> Result<Vec<usize>, String> {
    let what = "list the nodes of a CUDA graph";
    // SAFETY: the pointer leads to a number.
    let ask = |count: &mut _| unsafe { real::graph_nodes(graph, null_mut(), count) };
    let mut nodes = vec![null_mut(); answer(what, 0, ask)?];
    if !nodes.is_empty() {
        let (first, all) = (nodes.as_mut_ptr(), nodes.len());
        // SAFETY: there is room for so many handles.
        let ask = |count: &mut _| unsafe { real::graph_nodes(graph, first, count) };
        answer(what, all, ask)?;
    }
    Ok(nodes.into_iter().map(|node| node as usize).collect())
}

/// All edges of a graph: a node, and one that depends on it.
pub fn edges_of(graph: Graph) -> Result<Vec<[usize; 2]>, String> {
    let what = "list the edges of a CUDA graph";
    let none: *mut GraphNode = null_mut();
    // SAFETY: the pointer leads to a number.
    let ask = |count: &mut _| unsafe { real::graph_edges(graph, none, none, null_mut(), count) };
    let count = answer(what, 0, ask)?;
    if count == 0 {
        return Ok(vec![]);
    }
    let mut from: Vec<GraphNode> = vec![null_mut(); count];
    let (mut to, mut data) = (from.clone(), vec![0; count]);
    let (first, second, third) = (from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr());
    // SAFETY: there is room for so many edges.
    let ask = |count: &mut _| unsafe { real::graph_edges(graph, first, second, third, count) };
    answer(what, count, ask)?;
    let edges = from.into_iter().zip(to);
    Ok(edges
        .map(|(from, to)| [from as usize, to as usize])
        .collect())
}
