//! CUDA graphs: the nodes of an instance run one after the other, each as a call of its own.
//!
//! Every launch of a kernel needs a number of its own, and the shadow memory must hear of copies and fills when they happen. So a
//! program's instance is never launched. Beside it stands a [`Plan`]: for each of its nodes an instance of a graph with this node alone,
//! in an order that the edges allow. It is made when the program makes its instance, and changed when the program changes that.

use super::InSitu;
use super::graph_nodes::{
    Alone, add_copy, copy_of, edges_of, event, fill_of, filled, host_of, kernel_of, nodes_of,
};
use super::node_order::{Unfit, node_order};
use crate::driver;
use crate::ffi::{
    self, Dim3, Error, Graph, GraphExec, GraphNode, HostNodeParameters, KernelNodeParameters,
    Stream,
};
use crate::graphs::Node;
use crate::interpose::{extent, note_3d, note_fill};
use crate::launch::{Call, Form, Origin, real_stream};
use crate::opaque;
use crate::real::{self, answer, check};
use crate::runtime::Runtime;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
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
    /// Of all nodes in order: the kind, and the places of those that it depends on.
    shape: Vec<(c_int, Vec<usize>)>,
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
        let order = node_order(&nodes, &edges)?;
        let place = |node: usize| order.iter().position(|&one| one == node);
        for &node in &order {
            let handle = node as GraphNode;
            // SAFETY: the pointer leads to a number; the node is the graph's.
            let ask = |kind: &mut _| unsafe { real::graph_node_kind(handle, kind) };
            let kind = answer("ask what a node of a CUDA graph is", 0, ask)?;
            let before = edges.iter().filter(|[_, to]| *to == node);
            let mut before: Vec<_> = before.filter_map(|[from, _]| place(*from)).collect();
            before.sort_unstable();
            self.shape.push((kind, before));
            let work = match kind {
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
        if before.shape != self.shape {
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
            let error = alone.change(&changed);
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
        origin: Origin {
            in_graph: true,
            ..Origin::default()
        },
    };
    Ok(call.run())
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
