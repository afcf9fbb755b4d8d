//! CUDA graphs: in situ, the nodes of an instance run one after the other, each as a call of its own.
//!
//! Every launch of a kernel needs a number of its own, and the shadow memory must hear of copies and fills when they happen. So a
//! program's instance is never launched. Beside it stands a [`Plan`]: for each of its nodes an instance of a graph with this node alone,
//! in an order that the edges allow. It is made when the program makes its instance, and changed when the program changes that.
//!
//! A trace launches the program's instance. There, the plan says which copies and fills come between which kernels.

use super::InSitu;
use super::graph_nodes::{
    Alone, add_copy, add_kernel, copy_of, edges_of, event, fill_of, host_of, kernel_of, nodes_of,
    take_by_name,
};
use crate::cuda::driver;
use crate::cuda::ffi::{
    self, Dim3, Error, Graph, GraphExec, GraphNode, HostNodeParameters, KernelNodeParameters,
    Stream,
};
use crate::cuda::real::{self, answer, check};
use crate::interpose::{note_3d, note_fill};
use crate::model::graphs::Node;
use crate::model::node_order::{Unfit, node_order};
use crate::recorder::launch::{Call, Form, Origin, real_stream};
use crate::recorder::runtime::{Runtime, runtime};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use superstep_trace::{Gap, Probe};

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
    /// In a trace: a kernel that is announced.
    Traced(Arc<Node>),
    /// In a trace: nothing is noted.
    Untraced,
}

impl Plan {
    /// What an instance of `graph` does. `known` are the kernels that the program put there by the runtime's functions.
    fn new(runtime: &Runtime, graph: Graph, mut known: Vec<Arc<Node>>) -> Made {
        let mut plan = Plan::default();
        plan.add_all(runtime, graph, &mut known)?;
        match runtime.in_situ.is_wanted(runtime) || known.is_empty() {
            true => Ok(plan),
            false => Err(Unfit::Unknown),
        }
    }

    /// In a trace, takes the kernels that it finds out of `known`.
    fn add_all(
        &mut self,
        runtime: &Runtime,
        graph: Graph,
        known: &mut Vec<Arc<Node>>,
    ) -> Result<(), Unfit> {
        let in_situ = runtime.in_situ.is_wanted(runtime);
        let nodes = nodes_of(graph)?;
        let edges = edges_of(graph)?;
        let order = node_order(&nodes, &edges)?;
        let numbered = order.iter().enumerate().map(|(place, &node)| (node, place));
        let place: HashMap<usize, usize> = numbered.collect();
        let mut befores: HashMap<usize, Vec<usize>> = HashMap::new();
        for [from, to] in &edges {
            befores.entry(*to).or_default().push(place[from]);
        }
        let mut by_handle = HashMap::new();
        for &node in nodes.iter().filter(|_| !in_situ) {
            if let Some(of_node) = runtime.graphs.node(node as GraphNode)
                && let Some(place) = known.iter().position(|it| Arc::ptr_eq(it, &of_node.node))
            {
                by_handle.insert(node, known.remove(place));
            }
        }
        for &node in &order {
            let handle = node as GraphNode;
            // SAFETY: the pointer leads to a number; the node is the graph's.
            let ask = |kind: &mut _| unsafe { real::graph_node_kind(handle, kind) };
            let kind = answer("ask what a node of a CUDA graph is", 0, ask)?;
            let mut before = befores.remove(&node).unwrap_or_default();
            before.sort_unstable();
            self.shape.push((kind, before));
            let work = match kind {
                ffi::NODE_KERNEL if in_situ => {
                    let (alone, function) = add_kernel(runtime, handle, known)?;
                    Work::Kernel { alone, function }
                }
                ffi::NODE_KERNEL => {
                    let by_name = || take_by_name(runtime, handle, known);
                    let kernel = by_handle.remove(&node).or_else(by_name);
                    kernel.map_or(Work::Untraced, Work::Traced)
                }
                ffi::NODE_COPY => {
                    let copy = copy_of(handle)?;
                    let add = |node: &mut _, graph| add_copy(node, graph, &copy);
                    Work::Copy(Alone::new(in_situ, add)?)
                }
                ffi::NODE_FILL => {
                    let fill = fill_of(handle)?;
                    // SAFETY: the graph is ours; the parameters are those of another node.
                    let add = |node: &mut _, graph| unsafe {
                        real::graph_add_memset(node, graph, null(), 0, &fill)
                    };
                    Work::Fill(Alone::new(in_situ, add)?)
                }
                ffi::NODE_GRAPH => {
                    // SAFETY: the pointer leads to a handle; the node is one with a graph.
                    let ask = |child: &mut _| unsafe { real::graph_child(handle, child) };
                    let child = answer("find a CUDA graph inside another", null_mut(), ask)?;
                    self.add_all(runtime, child, known)?;
                    continue;
                }
                _ if !in_situ => Work::Untraced,
                ffi::NODE_HOST => Work::host(host_of(handle)?),
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

    fn has_memory_nodes(&self) -> bool {
        let is_one = |step: &Step| matches!(step.work, Work::Copy(_) | Work::Fill(_));
        self.steps.iter().any(is_one)
    }

    /// Notes what a launch of the program's instance does; `announce` is for its kernels, those included that are not enabled.
    fn note(&self, runtime: &Runtime, at: (Stream, bool), mut announce: impl FnMut(&Arc<Node>)) {
        for step in &self.steps {
            let read = match &step.work {
                Work::Traced(node) => {
                    announce(node);
                    continue;
                }
                Work::Copy(alone) if step.is_enabled => {
                    copy_of(alone.node()).map(|copy| note_3d(&copy, at))
                }
                Work::Fill(alone) if step.is_enabled => fill_of(alone.node()).map(|fill| {
                    note_fill(ffi::SUCCESS, &fill, at);
                }),
                _ => continue,
            };
            if read.is_err() {
                runtime.session.gap(Gap::GraphMemoryNode);
            }
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
                note_fill(alone.launch(stream), &fill, at)
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
            Work::Traced(_) | Work::Untraced => ffi::SUCCESS,
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

impl InSitu {
    pub fn has_plan(&self, instance: GraphExec) -> bool {
        self.plans.of(instance).is_some()
    }

    /// An instance was made of `graph`, or made to do the same.
    pub fn instantiated(&self, runtime: &Runtime, instance: GraphExec, graph: Graph) {
        let in_situ = self.is_wanted(runtime);
        // The nodes around a kernel with the counting probe are not the program's, and nobody asks for copies there.
        if !in_situ && runtime.session.registry().probe() == Probe::Count {
            return;
        }
        let known = runtime.graphs.of_graph(graph);
        let mode = real::relax_capture_mode();
        let mut made = Plan::new(runtime, graph, known);
        real::restore_capture_mode(mode);
        if !in_situ {
            if made.is_err() {
                runtime.session.gap(Gap::GraphMemoryNode);
            }
            let is_noted = |step: &Step| !matches!(step.work, Work::Untraced);
            if !(made.as_ref()).is_ok_and(|plan| plan.steps.iter().any(is_noted)) {
                return self.instance_destroyed(instance);
            }
        }
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

    /// A trace notes what a launch of an instance does, and with `announce` the launches of its kernels. `known` are these, in the
    /// order in which they were put there.
    pub fn note_graph(
        &self,
        runtime: &Runtime,
        instance: GraphExec,
        at: (Stream, bool),
        known: &[Arc<Node>],
        mut announce: impl FnMut(&Arc<Node>),
    ) {
        let plan = self.plans.of(instance);
        match plan.as_ref().map(|plan| plan.lock()).as_deref() {
            Some(Ok(plan)) => plan.note(runtime, at, announce),
            _ => known.iter().for_each(&mut announce),
        }
    }

    /// Runs the nodes of an instance; `None` in a trace, and if it has no plan.
    pub fn launch_graph(
        &self,
        runtime: &Runtime,
        instance: GraphExec,
        at: (Stream, bool),
    ) -> Option<Error> {
        if !self.is_wanted(runtime) {
            return None;
        }
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
        let Err(unfit) = changed else {
            return error;
        };
        let runtime = runtime();
        if self.is_wanted(runtime) {
            *plan = Err(unfit);
        } else if plan.as_ref().is_ok_and(Plan::has_memory_nodes) {
            runtime.session.gap(Gap::GraphMemoryNode);
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
            let (alone, function) = match &mut step.work {
                Work::Kernel { alone, function } => (alone, function),
                Work::Traced(_) | Work::Untraced => return Ok(()),
                _ => return Err(Unfit::Unknown),
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
