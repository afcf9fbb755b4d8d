//! CUDA graphs with kernels of ours: which launches an instance of a graph makes, and which lanes they use.
//!
//! A traced kernel in a graph has the flush kernel behind it, as in a stream. Nothing in its arguments changes from launch to
//! launch: the device counts a lane's launches, and the host gives out their numbers in the same order when the program
//! launches the graph. So the kernels that share a lane must run one after the other: those that one stream brought
//! into a capture, and explicit nodes that follow each other. All others have lanes of their own.

use crate::cuda::device::Pinned;
use crate::cuda::ffi::{self, Graph, GraphExec, GraphNode, Stream};
use crate::cuda::real;
use crate::model::modules::Kernel;
use crate::recorder::count::Counters;
use crate::recorder::drain::lanes::Lane;
use crate::recorder::drain::monitor::wait_for_none;
use crate::recorder::launch::real_stream;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use superstep_runtime_core::{ActiveLaunch, Geometry};
use superstep_trace::StreamId;

/// What becomes of a kernel's accesses.
pub enum Work {
    Traced(Arc<Lane>),
    Counted(&'static CountedNode),
    Plain,
    /// It was not built by Superstep.
    Opaque,
}

/// A kernel in a graph.
pub struct Node {
    pub kernel: Arc<Kernel>,
    /// How it is launched; the program may change it.
    pub geometry: Mutex<Geometry>,
    /// What becomes of its accesses.
    pub work: Work,
}

impl Node {
    pub fn lane(&self) -> Option<&Arc<Lane>> {
        match &self.work {
            Work::Traced(lane) => Some(lane),
            _ => None,
        }
    }
}

/// A kernel with the counting probe. Its graph holds a pointer to this, so it lives for ever.
pub struct CountedNode {
    pub counters: Counters,
    /// Where the graph copies them to.
    pub slot: Pinned,
    /// Launches that have not ended, the oldest first.
    pub pending: Mutex<VecDeque<ActiveLaunch>>,
}

/// A node as a number.
pub type GraphHandle = usize;

/// An explicit or captured node that runs a traced kernel.
#[derive(Clone)]
pub struct Known {
    pub graph: usize,
    /// The nodes of ours around it, one behind the other; the last is behind the kernel.
    pub own: Vec<GraphHandle>,
    pub node: Arc<Node>,
}

#[derive(Default)]
struct State {
    graphs: HashMap<usize, Vec<Arc<Node>>>,
    instances: HashMap<usize, Vec<Arc<Node>>>,
    captured_lanes: HashMap<(usize, StreamId), Arc<Lane>>,
    /// The node that ends a lane's chain so far.
    chains: HashMap<(usize, usize), Arc<Lane>>,
    nodes: HashMap<usize, Known>,
    counted: Vec<&'static CountedNode>,
}

#[derive(Default)]
pub struct Graphs {
    state: Mutex<State>,
    captures: AtomicUsize,
}

/// The graph into which `stream` is being captured, and the node that what is captured next depends on, if it is one.
fn captured(stream: Stream) -> Option<(Graph, Option<GraphNode>)> {
    let (mut status, mut id, mut graph) = (0, 0, std::ptr::null_mut());
    let (mut nodes, mut count) = (std::ptr::null(), 0);
    // SAFETY: the pointers lead to what they are for.
    let error = unsafe {
        real::capture_info(
            stream,
            &mut status,
            &mut id,
            &mut graph,
            &mut nodes,
            &mut count,
        )
    };
    if error != ffi::SUCCESS {
        // SAFETY: no arguments; the program must not see a failure of ours.
        unsafe { real::get_last_error() };
        return None;
    }
    // SAFETY: the runtime has just said that so many nodes lie there; they stay until the next call for the stream.
    let last = (count == 1 && !nodes.is_null()).then(|| unsafe { *nodes });
    (status == ffi::CAPTURE_ACTIVE && !graph.is_null()).then_some((graph, last))
}

/// The graph into which `stream` is being captured.
pub fn captured_by(stream: Stream) -> Option<Graph> {
    captured(stream).map(|(graph, _)| graph)
}

/// The node that what is captured next from `stream` depends on, if it is one.
pub fn last_captured(stream: Stream) -> Option<GraphNode> {
    captured(stream)?.1
}

impl Graphs {
    pub fn capture_began(&self) {
        self.captures.fetch_add(1, Ordering::AcqRel);
    }

    pub fn capture_ended(&self) {
        let less = |captures: usize| captures.checked_sub(1);
        let _ = self
            .captures
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    /// Whether any stream may be under capture.
    pub fn is_capturing(&self) -> bool {
        self.captures.load(Ordering::Acquire) > 0
    }

    /// Whether what is put into a stream only runs when the CUDA graph does that the stream is captured into.
    pub fn comes_later(&self, (stream, per_thread): (Stream, bool)) -> bool {
        self.is_capturing() && captured_by(real_stream(stream, per_thread)).is_some()
    }

    /// The lane of the kernels that `stream` brings into `graph`; made by `make` the first time.
    pub fn captured_lane(
        &self,
        graph: Graph,
        stream: StreamId,
        make: impl FnOnce() -> Result<Arc<Lane>, String>,
    ) -> Result<Arc<Lane>, String> {
        let key = (graph as usize, stream);
        if let Some(lane) = self.state.lock().captured_lanes.get(&key) {
            return Ok(lane.clone());
        }
        let lane = make()?;
        self.state.lock().captured_lanes.insert(key, lane.clone());
        Ok(lane)
    }

    /// What `stream` brings into `graph` from now on need not follow what it brought before.
    pub fn forget_captured_lane(&self, graph: Graph, stream: StreamId) {
        let key = (graph as usize, stream);
        self.state.lock().captured_lanes.remove(&key);
    }

    /// The lane whose last node in `graph` is one of `nodes`, and which the caller goes on with.
    pub fn take_chain(&self, graph: Graph, nodes: &[GraphNode]) -> Option<Arc<Lane>> {
        let mut state = self.state.lock();
        nodes
            .iter()
            .find_map(|&node| state.chains.remove(&(graph as usize, node as usize)))
    }

    /// `tail` is now the last node of `lane` in `graph`.
    pub fn set_chain(&self, graph: Graph, tail: GraphNode, lane: Arc<Lane>) {
        self.state
            .lock()
            .chains
            .insert((graph as usize, tail as usize), lane);
    }

    /// A kernel was added to a graph, with these nodes of ours around it. `handle` is its node, if known.
    pub fn add(
        &self,
        graph: Graph,
        handle: Option<GraphNode>,
        own: Vec<GraphHandle>,
        node: Arc<Node>,
    ) {
        let mut state = self.state.lock();
        if let Work::Counted(counted) = node.work {
            state.counted.push(counted);
        }
        if let Some(handle) = handle {
            let known = Known {
                graph: graph as usize,
                own,
                node: node.clone(),
            };
            state.nodes.insert(handle as usize, known);
        }
        state.graphs.entry(graph as usize).or_default().push(node);
    }

    /// A node of the program's that runs a kernel of ours.
    pub fn node(&self, handle: GraphNode) -> Option<Known> {
        self.state.lock().nodes.get(&(handle as usize)).cloned()
    }

    /// `clone` was made of `graph`.
    pub fn cloned(&self, clone: Graph, graph: Graph) {
        self.extend(clone, &self.of_graph(graph));
        let all = self.state.lock().nodes.clone();
        let of_graph = (all.into_iter()).filter(|(_, known)| known.graph == graph as usize);
        for (handle, known) in of_graph {
            let found = |of: GraphHandle| {
                let mut found = std::ptr::null_mut();
                // SAFETY: both are nodes of the graph that the clone was just made of.
                let error =
                    unsafe { real::graph_find_in_clone(&mut found, of as GraphNode, clone) };
                (error == ffi::SUCCESS).then_some(found as usize)
            };
            if let Some(node) = found(handle) {
                let (graph, own) = (clone as usize, known.own.iter().copied());
                let own = own.filter_map(found).collect();
                let known = Known {
                    graph,
                    own,
                    ..known
                };
                self.state.lock().nodes.insert(node, known);
            }
        }
    }

    /// The nodes of ours in all graphs, and the kernels of the program's that they belong to.
    pub fn owners(&self) -> HashMap<GraphHandle, GraphHandle> {
        let state = self.state.lock();
        let of_kernel = |(&handle, known): (&GraphHandle, &Known)| {
            known
                .own
                .iter()
                .map(move |&own| (own, handle))
                .collect::<Vec<_>>()
        };
        state.nodes.iter().flat_map(of_kernel).collect()
    }

    /// A node was taken out of its graph; answers what is known of it.
    pub fn node_destroyed(&self, handle: GraphNode) -> Option<Known> {
        let mut state = self.state.lock();
        let known = state.nodes.remove(&(handle as usize))?;
        if let Some(nodes) = state.graphs.get_mut(&known.graph) {
            nodes.retain(|node| !Arc::ptr_eq(node, &known.node));
        }
        Some(known)
    }

    /// `graph` now also makes the launches of `part`. Answers `false`, and does nothing, if they would share lanes with
    /// what is there: a graph may hold the same kernels twice, at the same time.
    pub fn extend(&self, graph: Graph, part: &[Arc<Node>]) -> bool {
        let mut state = self.state.lock();
        let nodes = state.graphs.entry(graph as usize).or_default();
        let lane = |node: &Arc<Node>| node.lane().map(Arc::as_ptr);
        let shared = part
            .iter()
            .filter_map(lane)
            .any(|new| nodes.iter().filter_map(lane).any(|old| old == new));
        if !shared {
            nodes.extend_from_slice(part);
        }
        !shared
    }

    /// The launches of a graph, in the order in which they were put there.
    pub fn of_graph(&self, graph: Graph) -> Vec<Arc<Node>> {
        let state = self.state.lock();
        let nodes = state.graphs.get(&(graph as usize));
        nodes.cloned().unwrap_or_default()
    }

    /// The launches of an instance.
    pub fn of_instance(&self, instance: GraphExec) -> Vec<Arc<Node>> {
        let state = self.state.lock();
        let nodes = state.instances.get(&(instance as usize));
        nodes.cloned().unwrap_or_default()
    }

    /// An instance was made of `graph`, or made to do the same.
    pub fn instantiated(&self, instance: GraphExec, graph: Graph) {
        let nodes = self.of_graph(graph);
        let mut state = self.state.lock();
        if nodes.is_empty() {
            state.instances.remove(&(instance as usize));
        } else {
            state.instances.insert(instance as usize, nodes);
        }
    }

    pub fn destroyed(&self, graph: Graph) {
        let graph = graph as usize;
        let mut state = self.state.lock();
        state.graphs.remove(&graph);
        state.captured_lanes.retain(|(of, _), _| *of != graph);
        state.chains.retain(|(of, _), _| *of != graph);
        state.nodes.retain(|_, known| known.graph != graph);
    }

    pub fn instance_destroyed(&self, instance: GraphExec) {
        self.state.lock().instances.remove(&(instance as usize));
    }

    /// Waits until all counts of launched graphs have arrived; `false` when nothing moves for `stall`.
    pub fn wait_for_counts(&self, stall: Duration) -> bool {
        let counted = self.state.lock().counted.clone();
        let pending = |node: &&CountedNode| node.pending.lock().len() as u64;
        wait_for_none(|| counted.iter().map(pending).sum(), stall)
    }

    /// The device was reset: there are no graphs any more.
    pub fn clear(&self) {
        *self.state.lock() = State::default();
    }
}
