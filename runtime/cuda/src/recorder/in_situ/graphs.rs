//! CUDA graphs in situ: the nodes of an instance run in sequence, each through a separate call.
//!
//! Every launch of a kernel needs its own number, and copies and fills must change shadow memory when they happen.
//! Therefore, the program's instance is never launched. Instead, its [`Plan`] has a graph instance for each node, in an
//! order that the edges allow. Changes to the program's instance also change the plan.
//!
//! A tracing run launches the program's instance; the plan only indicates which copies and fills occur between the
//! kernels.

use super::InSitu;
use super::graph_nodes::{stub_of, take_by_name};
use crate::cuda::graph::{NodeKind, SingleNode, with_relaxed_capture};
use crate::cuda::{
    CudaError, Event, Graph, GraphExec, GraphNode, Status, StreamArgument, Stub, cuda,
};
use crate::model::graphs::Node;
use crate::recorder::host_access::{record_copy_node, record_fill_node};
use crate::recorder::launch::{Call, Form};
use crate::recorder::runtime::{runtime, session};
use cudarc::driver::sys::CUDA_KERNEL_NODE_PARAMS_v2;
use cudarc::runtime::sys::{cudaHostNodeParams, cudaKernelNodeParams};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;
use superstep_runtime_core::{BadEdge, NodeGraph};
use superstep_trace::{Gap, Probe};
use thiserror::Error;

/// The trailing arguments of kernels in the program's own graph, which never runs. With these arguments, a kernel would
/// fault.
pub const UNASSIGNED: [u64; 2] = [0; 2];

#[derive(Debug, Error)]
pub enum PlanError {
    #[error(
        "it has an unsupported node of kind {}; leave the node out of the graph, or trace the program",
        kind_name(*.0)
    )]
    Node(NodeKind),
    /// The edges form a cycle, or connect nodes of other graphs.
    #[error("no order of its nodes satisfies its edges")]
    Edges,
    #[error(
        "a changed node was not found in the instance; instantiate the changed graph instead, or trace the program"
    )]
    Unknown,
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

fn kind_name(NodeKind(kind): NodeKind) -> String {
    let name = match kind {
        8 => "cudaGraphNodeTypeExtSemaphoreSignal (external semaphores)",
        9 => "cudaGraphNodeTypeExtSemaphoreWait (external semaphores)",
        10 => "cudaGraphNodeTypeMemAlloc (memory allocated by the graph)",
        11 => "cudaGraphNodeTypeMemFree (memory allocated by the graph)",
        12 => "CU_GRAPH_NODE_TYPE_BATCH_MEM_OP (batches of memory operations)",
        13 => "cudaGraphNodeTypeConditional (conditional nodes)",
        _ => return format!("{kind}, which is unknown to Superstep"),
    };
    name.to_owned()
}

type PlanResult = Result<Plan, PlanError>;
pub type Plans = Mutex<HashMap<GraphExec, Arc<Mutex<PlanResult>>>>;

#[derive(Default)]
pub struct Plan {
    steps: Vec<Step>,
    /// The kind and dependencies of all nodes, in order.
    shape: Vec<(NodeKind, Vec<usize>)>,
}

struct Step {
    /// The program's handles for the node.
    handles: Vec<GraphNode>,
    is_enabled: bool,
    work: NodeWork,
}

type RecordNode = fn(GraphNode, StreamArgument) -> Result<(), CudaError>;

enum NodeWork {
    Kernel {
        node: SingleNode,
        stub: Stub,
    },
    /// A copy or fill, and the function that records it.
    Memory(SingleNode, RecordNode),
    Host(HostCall),
    Record(Event),
    Wait(Event),
    /// A kernel that a tracing run announces.
    Traced(Arc<Node>),
    /// A node that a tracing run ignores.
    Untraced,
}

#[derive(Clone, Copy)]
struct HostCall(cudaHostNodeParams);

// SAFETY: the program passes the function and its data so that CUDA's own threads can make the call.
unsafe impl Send for HostCall {}

impl Plan {
    /// Creates the plan for an instance of `graph`, to which the program added the kernels `known` through the
    /// runtime's functions.
    fn new(in_situ: bool, graph: Graph, mut known: Vec<Arc<Node>>) -> PlanResult {
        let mut plan = Plan::default();
        plan.add_all(in_situ, graph, &mut known)?;
        if in_situ || known.is_empty() {
            Ok(plan)
        } else {
            Err(PlanError::Unknown)
        }
    }

    /// Adds the nodes of `graph`. When tracing, removes the kernels that it finds from `known`.
    fn add_all(
        &mut self,
        in_situ: bool,
        graph: Graph,
        known: &mut Vec<Arc<Node>>,
    ) -> Result<(), PlanError> {
        let nodes = graph.nodes()?;
        let structure = NodeGraph::new(nodes, graph.edges()?);
        let order = structure.in_order().map_err(|BadEdge| PlanError::Edges)?;
        let numbered = order.iter().enumerate().map(|(place, &node)| (node, place));
        let place: HashMap<GraphNode, usize> = numbered.collect();
        let mut dependencies: HashMap<GraphNode, Vec<usize>> = HashMap::new();
        for (from, to) in structure.edges() {
            dependencies.entry(*to).or_default().push(place[from]);
        }
        let mut by_handle = HashMap::new();
        for &node in structure.nodes().iter().filter(|_| !in_situ) {
            if let Some(added) = runtime().graphs.node(node)
                && let Some(place) = known.iter().position(|it| Arc::ptr_eq(it, &added.node))
            {
                by_handle.insert(node, known.remove(place));
            }
        }
        for &node in &order {
            let kind = node.kind()?;
            let mut dependencies = dependencies.remove(&node).unwrap_or_default();
            dependencies.sort_unstable();
            self.shape.push((kind, dependencies));
            let work = match kind {
                NodeKind::KERNEL if in_situ => {
                    let parameters = node.kernel()?;
                    NodeWork::Kernel {
                        stub: stub_of(node, &parameters, known),
                        node: SingleNode::kernel(node, &parameters)?,
                    }
                }
                NodeKind::KERNEL => {
                    let by_name = || take_by_name(node, known);
                    let kernel = by_handle.remove(&node).or_else(by_name);
                    kernel.map_or(NodeWork::Untraced, NodeWork::Traced)
                }
                NodeKind::COPY => {
                    let single = SingleNode::copy(in_situ, &node.copy()?)?;
                    NodeWork::Memory(single, record_copy_node)
                }
                NodeKind::FILL => {
                    let single = SingleNode::fill(in_situ, &node.fill()?)?;
                    NodeWork::Memory(single, record_fill_node)
                }
                NodeKind::GRAPH => {
                    self.add_all(in_situ, node.child()?, known)?;
                    continue;
                }
                _ if !in_situ => NodeWork::Untraced,
                NodeKind::HOST => NodeWork::Host(HostCall(node.host()?)),
                NodeKind::EMPTY => continue,
                NodeKind::RECORD => NodeWork::Record(node.recorded_event()?),
                NodeKind::WAIT => NodeWork::Wait(node.awaited_event()?),
                other => return Err(PlanError::Node(other)),
            };
            self.steps.push(Step {
                handles: vec![node],
                is_enabled: true,
                work,
            });
        }
        Ok(())
    }

    fn step(&mut self, node: GraphNode) -> Result<&mut Step, PlanError> {
        let has_node = |step: &&mut Step| step.handles.contains(&node);
        (self.steps.iter_mut().find(has_node)).ok_or(PlanError::Unknown)
    }

    /// Adds the earlier handles of nodes, which the program may continue to use after an update.
    fn add_earlier_handles(&mut self, earlier: Plan) {
        if earlier.shape != self.shape {
            return;
        }
        for (step, earlier) in self.steps.iter_mut().zip(earlier.steps) {
            step.is_enabled = earlier.is_enabled;
            step.handles.extend(earlier.handles);
        }
    }

    fn has_memory_nodes(&self) -> bool {
        let is_memory = |step: &Step| matches!(step.work, NodeWork::Memory(..));
        self.steps.iter().any(is_memory)
    }

    /// Records a launch of the program's instance. Calls `announce` for its kernels, including disabled ones.
    fn record(&self, into: StreamArgument, mut announce: impl FnMut(&Arc<Node>)) {
        for step in &self.steps {
            match &step.work {
                NodeWork::Traced(node) => announce(node),
                NodeWork::Memory(single, record) if step.is_enabled => {
                    let recorded = record(single.node, into);
                    recorded.unwrap_or_else(|_| session().gap(Gap::GraphMemoryNode));
                }
                _ => {}
            }
        }
    }

    fn run(&self, into: StreamArgument) -> Result<Status, CudaError> {
        for step in self.steps.iter().filter(|step| step.is_enabled) {
            let status = step.work.run(into)?;
            if !status.is_success() {
                return Ok(status);
            }
        }
        Ok(Status::SUCCESS)
    }
}

impl NodeWork {
    fn run(&self, into: StreamArgument) -> Result<Status, CudaError> {
        let stream = into.stream();
        Ok(match self {
            NodeWork::Kernel { node, stub } => return run_kernel(node, *stub, into),
            NodeWork::Memory(single, record) => {
                let status = single.launch(stream);
                if status.is_success() {
                    record(single.node, into)?;
                }
                status
            }
            NodeWork::Host(HostCall(host)) => {
                // SAFETY: the program passed the function and its data for a call at this point in the order.
                unsafe { cuda!(cudaLaunchHostFunc(stream.raw(), host.fn_, host.userData)) }
            }
            NodeWork::Record(event) => event.record(stream),
            NodeWork::Wait(event) => stream.wait_for(*event),
            NodeWork::Traced(_) | NodeWork::Untraced => Status::SUCCESS,
        })
    }
}

/// Launches a kernel from a graph as if the program had launched it directly.
fn run_kernel(node: &SingleNode, stub: Stub, into: StreamArgument) -> Result<Status, CudaError> {
    let parameters = node.node.kernel()?;
    let launch = |arguments: *mut *mut c_void| {
        if arguments != parameters.kernelParams {
            let changed = node.change(&CUDA_KERNEL_NODE_PARAMS_v2 {
                kernelParams: arguments,
                ..parameters
            });
            if !changed.is_success() {
                return changed;
            }
        }
        node.launch(into.stream())
    };
    let p = &parameters;
    let shape = [
        [p.gridDimX, p.gridDimY, p.gridDimZ],
        [p.blockDimX, p.blockDimY, p.blockDimZ],
    ];
    let (shared_bytes, arguments) = (p.sharedMemBytes as usize, p.kernelParams);
    let call = Call {
        form: Form::Extended,
        is_driver_call: true,
        in_graph: true,
        ..Call::new(stub, shape, shared_bytes, into, arguments, &launch)
    };
    Ok(call.run())
}

impl InSitu {
    fn plan(&self, instance: GraphExec) -> Option<Arc<Mutex<PlanResult>>> {
        self.plans.lock().get(&instance).cloned()
    }

    pub fn has_plan(&self, instance: GraphExec) -> bool {
        self.plan(instance).is_some()
    }

    pub fn instantiated(&self, instance: GraphExec, graph: Graph) {
        let in_situ = self.is_used();
        // The nodes around a kernel with the counting probe are not the program's, and a counting run does not need the
        // plan.
        if !in_situ && session().registry().probe() == Probe::Count {
            return;
        }
        let known = runtime().graphs.of_graph(graph);
        let mut new = with_relaxed_capture(|| Plan::new(in_situ, graph, known));
        if !in_situ {
            if new.is_err() {
                session().gap(Gap::GraphMemoryNode);
            }
            let is_recorded = |step: &Step| !matches!(step.work, NodeWork::Untraced);
            if !(new.as_ref()).is_ok_and(|plan| plan.steps.iter().any(is_recorded)) {
                return self.instance_destroyed(instance);
            }
        }
        let mut plans = self.plans.lock();
        match plans.get(&instance) {
            Some(plan) => {
                let mut plan = plan.lock();
                std::mem::swap(&mut *plan, &mut new);
                if let (Ok(plan), Ok(earlier)) = (&mut *plan, new) {
                    plan.add_earlier_handles(earlier);
                }
            }
            None => {
                plans.insert(instance, Arc::new(Mutex::new(new)));
            }
        }
    }

    pub fn instance_destroyed(&self, instance: GraphExec) {
        self.plans.lock().remove(&instance);
    }

    /// Records a launch of an instance in a trace, and calls `announce` for its kernels. Without a plan, these are
    /// `known`, in the order in which they were added.
    pub fn record_graph(
        &self,
        instance: GraphExec,
        into: StreamArgument,
        known: &[Arc<Node>],
        mut announce: impl FnMut(&Arc<Node>),
    ) {
        let plan = self.plan(instance);
        match plan.as_ref().map(|plan| plan.lock()).as_deref() {
            Some(Ok(plan)) => plan.record(into, announce),
            _ => known.iter().for_each(&mut announce),
        }
    }

    /// Runs the nodes of an instance. Returns `None` when tracing or without a plan.
    pub fn launch_graph(&self, instance: GraphExec, into: StreamArgument) -> Option<Status> {
        if !self.is_used() {
            return None;
        }
        let plan = self.plan(instance)?;
        let plan = plan.lock();
        let reason = match plan.as_ref().map(|plan| plan.run(into)) {
            Ok(Ok(status)) => return Some(status),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        session().fault(format!("failed to launch a CUDA graph in situ: {reason}"));
        Some(Status::NOT_SUPPORTED)
    }

    /// Records a change to an instance's node, if `status` is success.
    pub fn node_changed(
        &self,
        status: Status,
        instance: GraphExec,
        node: GraphNode,
        change: NodeChange<'_>,
    ) -> Status {
        let Some(plan) = self.plan(instance).filter(|_| status.is_success()) else {
            return status;
        };
        let mut plan = plan.lock();
        let changed = match &mut *plan {
            Ok(plan) => plan.step(node).and_then(|step| step.change(change)),
            // The launch reports the reason.
            Err(_) => return status,
        };
        let Err(error) = changed else {
            return status;
        };
        if self.is_used() {
            *plan = Err(error);
        } else if plan.as_ref().is_ok_and(Plan::has_memory_nodes) {
            session().gap(Gap::GraphMemoryNode);
        }
        status
    }
}

pub enum NodeChange<'a> {
    Kernel(&'a cudaKernelNodeParams),
    /// A change to a copy or fill. The function makes the same change to another node.
    Memory(&'a dyn Fn(GraphNode) -> Status),
    Host(cudaHostNodeParams),
    Enabled(bool),
}

impl Step {
    fn change(&mut self, change: NodeChange<'_>) -> Result<(), PlanError> {
        match (change, &mut self.work) {
            (NodeChange::Kernel(given), NodeWork::Kernel { node, stub }) => {
                // SAFETY: the runtime has accepted the parameters for another node, and copies the arguments.
                node.set(|own| unsafe { cuda!(cudaGraphKernelNodeSetParams(own.raw(), given)) })?;
                *stub = Stub::from_raw(given.func);
            }
            (NodeChange::Kernel(_), NodeWork::Traced(_) | NodeWork::Untraced) => {}
            (NodeChange::Memory(set), NodeWork::Memory(single, _)) => single.set(set)?,
            (NodeChange::Host(given), work) => *work = NodeWork::Host(HostCall(given)),
            (NodeChange::Enabled(is_enabled), _) => self.is_enabled = is_enabled,
            _ => return Err(PlanError::Unknown),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
