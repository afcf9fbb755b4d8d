//! CUDA graphs: the nodes of an instance run one after the other, each as a call of its own.
//!
//! Every launch of a kernel needs a number of its own, and the shadow memory must hear of copies and fills when they happen. So a
//! program's instance is never launched. Beside it stands a [`Plan`]: for each of its nodes an instance of a graph with this node alone,
//! in an order that the edges allow. It is made when the program makes its instance, and changed when the program changes that.

use super::InSitu;
use super::node_order::{Unfit, node_order};
use crate::driver;
use crate::ffi::{
    self, Dim3, Error, Graph, GraphExec, GraphNode, HostNodeParameters, KernelNodeParameters,
    MemsetParameters, Stream,
};
use crate::graphs::Node;
use crate::interpose::{Copy3d, extent, note_3d, note_fill};
use crate::launch::{Call, Form, Origin, real_stream};
use crate::opaque;
use crate::real::{self, answer, check};
use crate::runtime::Runtime;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// The trailing arguments of a kernel in a graph of the program's, which never runs. If it did, the kernel would fault.
pub const NOT_YET: [u64; 2] = [0; 2];

type Made = Result<Plan, Unfit>;

/// By the program's instance; an error where its nodes cannot be run one by one.
#[derive(Default)]
pub struct Plans(Mutex<HashMap<usize, Arc<Mutex<Made>>>>);

impl Plans {
    fn of(&self, instance: GraphExec) -> Option<Arc<Mutex<Made>>> {
        self.0.lock().get(&(instance as usize)).cloned()
    }

    pub fn clear(&self) {
        self.0.lock().clear();
    }
}

/// What an instance does, in order.
#[derive(Default)]
struct Plan {
    steps: Vec<Step>,
}

struct Step {
    /// The nodes of the program's graphs that stand for it.
    handles: Vec<usize>,
    is_enabled: bool,
    work: Work,
}

enum Work {
    Kernel {
        alone: Alone,
        /// Its stub, or a handle of the driver's.
        function: usize,
    },
    Copy(Alone),
    Fill(Alone),
    Host {
        function: ffi::HostFunction,
        data: usize,
    },
    Record(usize),
    Wait(usize),
}

/// A node in a graph of its own, and an instance of that.
struct Alone {
    graph: usize,
    node: usize,
    instance: usize,
}

impl Alone {
    /// `add` puts the node into a graph.
    fn new(add: impl FnOnce(&mut GraphNode, Graph) -> Error) -> Result<Self, String> {
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
        // SAFETY: the pointer leads to a handle; the graph was made above.
        let instantiate = |place: &mut _| unsafe { real::graph_instantiate(place, graph, 0) };
        alone.instance = answer(what, null_mut(), instantiate)? as usize;
        Ok(alone)
    }

    fn node(&self) -> GraphNode {
        self.node as GraphNode
    }

    fn launch(&self, stream: Stream) -> Error {
        // SAFETY: the instance lives as long as this.
        unsafe { real::graph_launch(self.instance as GraphExec, stream) }
    }

    /// The instance does what the graph says now.
    fn update(&self) -> Error {
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

impl Plan {
    /// What an instance of `graph` does. `known` are the kernels in it that the program launches by their stubs.
    fn new(runtime: &Runtime, graph: Graph, known: &[Arc<Node>]) -> Made {
        let mut plan = Plan::default();
        plan.add_all(runtime, graph, known)?;
        Ok(plan)
    }

    fn add_all(
        &mut self,
        runtime: &Runtime,
        graph: Graph,
        known: &[Arc<Node>],
    ) -> Result<(), Unfit> {
        let nodes = nodes_of(graph)?;
        let edges = edges_of(graph)?;
        for node in node_order(&nodes, &edges)? {
            let handle = node as GraphNode;
            // SAFETY: the pointer leads to a number; the node is the graph's.
            let ask = |kind: &mut _| unsafe { real::graph_node_kind(handle, kind) };
            let work = match answer("ask what a node of a CUDA graph is", 0, ask)? {
                ffi::NODE_KERNEL => kernel(runtime, handle, known)?,
                ffi::NODE_COPY => {
                    let copy = copy_of(handle)?;
                    let add = |node: &mut _, graph| add_copy(node, graph, &copy);
                    Work::Copy(Alone::new(add)?)
                }
                ffi::NODE_FILL => {
                    let fill = fill_of(handle)?;
                    // SAFETY: the graph is ours; the parameters are those of another node.
                    let add = |node: &mut _, graph| unsafe {
                        real::graph_add_memset(node, graph, null(), 0, &fill)
                    };
                    Work::Fill(Alone::new(add)?)
                }
                ffi::NODE_HOST => Work::host(host_of(handle)?),
                ffi::NODE_GRAPH => {
                    // SAFETY: the pointer leads to a handle; the node is one with a graph.
                    let ask = |child: &mut _| unsafe { real::graph_child(handle, child) };
                    let child = answer("find a CUDA graph inside another", null_mut(), ask)?;
                    self.add_all(runtime, child, known)?;
                    continue;
                }
                ffi::NODE_EMPTY => continue,
                ffi::NODE_RECORD => Work::Record(event(handle, real::graph_recorded_event)?),
                ffi::NODE_WAIT => Work::Wait(event(handle, real::graph_awaited_event)?),
                other => return Err(Unfit::Node(other)),
            };
            self.steps.push(Step {
                handles: vec![node],
                is_enabled: true,
                work,
            });
        }
        Ok(())
    }

    fn step(&mut self, node: GraphNode) -> Result<&mut Step, Unfit> {
        let node = node as usize;
        let of_node = |step: &&mut Step| step.handles.contains(&node);
        (self.steps.iter_mut().find(of_node)).ok_or(Unfit::Unknown)
    }

    /// The program may go on naming nodes of the graph that the instance was made of at first.
    fn known_as(&mut self, before: Plan) {
        if before.steps.len() != self.steps.len() {
            return;
        }
        for (step, before) in self.steps.iter_mut().zip(before.steps) {
            step.is_enabled = before.is_enabled;
            step.handles.extend(before.handles);
        }
    }

    fn run(&self, (stream, per_thread): (Stream, bool)) -> Result<Error, Unfit> {
        for step in self.steps.iter().filter(|step| step.is_enabled) {
            let error = step.work.run((stream, per_thread))?;
            if error != ffi::SUCCESS {
                return Ok(error);
            }
        }
        Ok(ffi::SUCCESS)
    }
}

impl Work {
    fn host(parameters: HostNodeParameters) -> Self {
        Work::Host {
            function: parameters.function,
            data: parameters.data as usize,
        }
    }

    fn run(&self, at: (Stream, bool)) -> Result<Error, Unfit> {
        let stream = real_stream(at.0, at.1);
        Ok(match self {
            Work::Kernel { alone, function } => return run_kernel(alone, *function, at),
            Work::Copy(alone) => {
                let copy = copy_of(alone.node())?;
                let error = alone.launch(stream);
                if error == ffi::SUCCESS {
                    note_3d(&copy, at);
                }
                error
            }
            Work::Fill(alone) => {
                let fill = fill_of(alone.node())?;
                let memory = ffi::PitchedPointer {
                    pointer: fill.to,
                    pitch: fill.pitch,
                    width: 0,
                    height: 0,
                };
                let size = extent(fill.width * fill.element_bytes as usize, fill.height);
                note_fill(alone.launch(stream), memory, fill.value as c_int, size, at)
            }
            // SAFETY: the program gave both for this.
            Work::Host { function, data } => unsafe {
                real::launch_host_function(stream, *function, *data as *mut c_void)
            },
            // SAFETY: the program gave the event for this.
            Work::Record(event) => unsafe { real::event_record(*event as ffi::Event, stream) },
            // SAFETY: as above.
            Work::Wait(event) => unsafe {
                real::stream_wait_event(stream, *event as ffi::Event, 0)
            },
        })
    }
}

/// Launches the kernel of a graph as if the program had asked for that alone.
fn run_kernel(
    alone: &Alone,
    function: usize,
    (stream, per_thread): (Stream, bool),
) -> Result<Error, Unfit> {
    let of_node = kernel_of(alone.node())?;
    let launch = |arguments: *mut *mut c_void| {
        if arguments != of_node.arguments {
            let changed = driver::KernelNodeParameters {
                arguments,
                ..of_node
            };
            let (instance, node) = (alone.instance as GraphExec, alone.node());
            // SAFETY: the instance is ours; the driver copies the arguments. Launches that are under way keep theirs.
            let error = unsafe { driver::graph_change_kernel(instance, node, &changed) };
            if error != ffi::SUCCESS {
                return error;
            }
        }
        alone.launch(real_stream(stream, per_thread))
    };
    let [grid, block] = [of_node.grid, of_node.block].map(|[x, y, z]| Dim3 { x, y, z });
    let call = Call {
        function: function as *const c_void,
        grid,
        block,
        arguments: of_node.arguments,
        shared_bytes: of_node.shared_bytes as usize,
        stream,
        per_thread,
        form: Form::Extended,
        is_drivers: true,
        launch: &launch,
        origin: Origin::default(),
    };
    Ok(call.run())
}

/// What `ask` fills; an error of the driver's has the runtime's number.
fn filled<T>(what: &str, ask: impl FnOnce(*mut T) -> Error) -> Result<T, String> {
    let mut place = MaybeUninit::zeroed();
    check(ask(place.as_mut_ptr()), what)?;
    // SAFETY: the call has filled the structure.
    Ok(unsafe { place.assume_init() })
}

fn kernel_of(node: GraphNode) -> Result<driver::KernelNodeParameters, String> {
    // SAFETY: the node is a kernel's; the pointer leads to the structure.
    let ask = |place| unsafe { driver::graph_kernel(node, place) };
    filled("read a kernel's node of a CUDA graph", ask)
}

fn copy_of(node: GraphNode) -> Result<Copy3d, String> {
    // SAFETY: the node is a copy's; the pointer leads to the structure.
    let ask = |place| unsafe { driver::graph_memcpy(node, place) };
    filled("read a copy's node of a CUDA graph", ask)
}

fn fill_of(node: GraphNode) -> Result<MemsetParameters, String> {
    // SAFETY: the node is a fill's; the pointer leads to the structure.
    let ask = |place| unsafe { real::graph_memset(node, place) };
    filled("read a fill's node of a CUDA graph", ask)
}

fn host_of(node: GraphNode) -> Result<HostNodeParameters, String> {
    // SAFETY: the node is a host function's; the pointer leads to the structure, in which the runtime puts a function.
    unsafe {
        let mut place = MaybeUninit::uninit();
        let error = real::graph_host(node, place.as_mut_ptr());
        check(error, "read a host function's node of a CUDA graph")?;
        Ok(place.assume_init())
    }
}

fn event(
    node: GraphNode,
    ask: unsafe fn(GraphNode, *mut ffi::Event) -> Error,
) -> Result<usize, String> {
    // SAFETY: the node is an event's; the pointer leads to a handle.
    let ask = |place: &mut _| unsafe { ask(node, place) };
    Ok(answer("read an event's node of a CUDA graph", null_mut(), ask)? as usize)
}

fn add_copy(node: &mut GraphNode, graph: Graph, copy: &Copy3d) -> Error {
    let mut context = null_mut();
    // SAFETY: the pointers lead to handles; the graph is ours, and the copy is that of another node.
    unsafe {
        match driver::current_context(&mut context) {
            ffi::SUCCESS => driver::graph_add_memcpy(node, graph, null(), 0, copy, context),
            error => error,
        }
    }
}

fn kernel(runtime: &Runtime, node: GraphNode, known: &[Arc<Node>]) -> Result<Work, Unfit> {
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
    Ok(Work::Kernel {
        alone: Alone::new(add)?,
        function: function_of(runtime, node, &of_node, known),
    })
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

/// All nodes of a graph.
fn nodes_of(graph: Graph) -> Result<Vec<usize>, String> {
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
fn edges_of(graph: Graph) -> Result<Vec<[usize; 2]>, String> {
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

impl InSitu {
    pub fn has_plan(&self, instance: GraphExec) -> bool {
        self.plans.of(instance).is_some()
    }

    /// An instance was made of `graph`, or made to do the same.
    pub fn instantiated(&self, runtime: &Runtime, instance: GraphExec, graph: Graph) {
        if !self.is_wanted(runtime) {
            return;
        }
        let known = runtime.graphs.of_graph(graph);
        let mode = real::relax_capture_mode();
        let mut made = Plan::new(runtime, graph, &known);
        real::restore_capture_mode(mode);
        let mut plans = self.plans.0.lock();
        match plans.get(&(instance as usize)) {
            Some(old) => {
                let mut old = old.lock();
                std::mem::swap(&mut *old, &mut made);
                if let (Ok(new), Ok(before)) = (&mut *old, made) {
                    new.known_as(before);
                }
            }
            None => {
                plans.insert(instance as usize, Arc::new(Mutex::new(made)));
            }
        }
    }

    pub fn instance_destroyed(&self, instance: GraphExec) {
        self.plans.0.lock().remove(&(instance as usize));
    }

    /// Runs the nodes of an instance; `None` if it has no plan.
    pub fn launch_graph(
        &self,
        runtime: &Runtime,
        instance: GraphExec,
        at: (Stream, bool),
    ) -> Option<Error> {
        let plan = self.plans.of(instance)?;
        let plan = plan.lock();
        let unfit = match plan.as_ref().map(|plan| plan.run(at)) {
            Ok(Ok(error)) => return Some(error),
            Ok(Err(unfit)) => unfit.to_string(),
            Err(unfit) => unfit.to_string(),
        };
        (runtime.session).fault(format!("failed to launch a CUDA graph in situ: {unfit}"));
        Some(ffi::NOT_SUPPORTED)
    }

    /// A node of an instance was changed, which answered `error`; `change` does it to ours.
    fn changed(
        &self,
        error: Error,
        instance: GraphExec,
        node: GraphNode,
        change: impl FnOnce(&mut Step) -> Result<(), Unfit>,
    ) -> Error {
        let Some(plan) = self.plans.of(instance).filter(|_| error == ffi::SUCCESS) else {
            return error;
        };
        let mut plan = plan.lock();
        let changed = match &mut *plan {
            Ok(plan) => plan.step(node).and_then(change),
            // Its launch says why.
            Err(_) => return error,
        };
        if let Err(unfit) = changed {
            *plan = Err(unfit);
        }
        error
    }

    pub fn kernel_changed(
        &self,
        error: Error,
        instance: GraphExec,
        node: GraphNode,
        given: &KernelNodeParameters,
    ) -> Error {
        self.changed(error, instance, node, |step| {
            let Work::Kernel { alone, function } = &mut step.work else {
                return Err(Unfit::Unknown);
            };
            // SAFETY: the node is ours; the runtime has accepted the parameters for another one, and copies the arguments.
            let set = unsafe { real::graph_set_kernel(alone.node(), given) };
            check(set.max(alone.update()), CHANGE)?;
            *function = given.function as usize;
            Ok(())
        })
    }

    /// A copy or a fill; `set` changes a node of ours.
    pub fn memory_changed(
        &self,
        error: Error,
        instance: GraphExec,
        node: GraphNode,
        set: impl FnOnce(GraphNode) -> Error,
    ) -> Error {
        self.changed(error, instance, node, |step| {
            let (Work::Copy(alone) | Work::Fill(alone)) = &step.work else {
                return Err(Unfit::Unknown);
            };
            check(set(alone.node()), CHANGE)?;
            check(alone.update(), CHANGE)?;
            Ok(())
        })
    }

    pub fn host_changed(
        &self,
        error: Error,
        instance: GraphExec,
        node: GraphNode,
        given: HostNodeParameters,
    ) -> Error {
        self.changed(error, instance, node, |step| {
            step.work = Work::host(given);
            Ok(())
        })
    }

    pub fn enabled(
        &self,
        error: Error,
        instance: GraphExec,
        node: GraphNode,
        is_enabled: bool,
    ) -> Error {
        self.changed(error, instance, node, |step| {
            step.is_enabled = is_enabled;
            Ok(())
        })
    }
}

const CHANGE: &str = "change a node of a CUDA graph";
