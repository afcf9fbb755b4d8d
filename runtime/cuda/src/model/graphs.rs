//! CUDA graphs with recorded kernels: the launches that an instance of a graph performs, and the buffers that they use.
//!
//! A flush kernel follows each traced kernel, as in a stream. Arguments are the same for all launches: the device
//! counts a buffer's launches, and the host numbers them in the same order when the program launches the graph.
//! Therefore, kernels that share a buffer must run in sequence: those captured from one stream, and explicit nodes that
//! follow each other.

use crate::cuda::graph::captured_by;
use crate::cuda::{Graph, GraphExec, GraphNode, StreamArgument};
use crate::model::modules::Kernel;
use crate::recorder::counting::CountedNode;
use crate::recorder::drain::buffers::DrainBuffer;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use superstep_runtime_core::Geometry;
use superstep_trace::StreamId;

pub enum NodeRecording {
    Traced(Arc<DrainBuffer>),
    Counted(&'static CountedNode),
    Timed,
    /// A kernel that Superstep did not build.
    Opaque,
}

pub struct Node {
    pub kernel: Arc<Kernel>,
    /// The launch geometry, which the program may change.
    pub geometry: Mutex<Geometry>,
    pub recording: NodeRecording,
}

impl Node {
    pub fn new(kernel: Arc<Kernel>, geometry: Geometry, recording: NodeRecording) -> Self {
        let geometry = Mutex::new(geometry);
        Node {
            kernel,
            geometry,
            recording,
        }
    }

    pub fn buffer(&self) -> Option<&Arc<DrainBuffer>> {
        match &self.recording {
            NodeRecording::Traced(buffer) => Some(buffer),
            _ => None,
        }
    }
}

/// One of the program's nodes, which runs a recorded kernel.
#[derive(Clone)]
pub struct KnownNode {
    pub graph: Graph,
    /// The nodes that the recorder added around this node, in order; the last one follows the kernel.
    pub own: Vec<GraphNode>,
    pub node: Arc<Node>,
}

#[derive(Default)]
struct State {
    graphs: HashMap<Graph, Vec<Arc<Node>>>,
    instances: HashMap<GraphExec, Vec<Arc<Node>>>,
    captured_buffers: HashMap<(Graph, StreamId), Arc<DrainBuffer>>,
    /// Buffers, by the last node in their chain so far.
    chains: HashMap<(Graph, GraphNode), Arc<DrainBuffer>>,
    nodes: HashMap<GraphNode, KnownNode>,
}

#[derive(Default)]
pub struct Graphs {
    state: Mutex<State>,
    captures: AtomicUsize,
}

impl Graphs {
    pub fn capture_began(&self) {
        self.captures.fetch_add(1, Ordering::AcqRel);
    }

    pub fn capture_ended(&self) {
        let decrement = |captures: usize| captures.checked_sub(1);
        let _ = self
            .captures
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, decrement);
    }

    pub fn is_capturing(&self) -> bool {
        self.captures.load(Ordering::Acquire) > 0
    }

    /// Returns whether the stream is being captured, in which case its work runs only when the graph is launched.
    pub fn is_deferred(&self, into: StreamArgument) -> bool {
        self.is_capturing() && captured_by(into.stream()).is_some()
    }

    /// Returns the buffer for the kernels that `graph` captures from `stream`; `create` creates it the first time.
    pub fn captured_buffer<E>(
        &self,
        graph: Graph,
        stream: StreamId,
        create: impl FnOnce() -> Result<Arc<DrainBuffer>, E>,
    ) -> Result<Arc<DrainBuffer>, E> {
        let key = (graph, stream);
        if let Some(buffer) = self.state.lock().captured_buffers.get(&key) {
            return Ok(buffer.clone());
        }
        let buffer = create()?;
        let mut state = self.state.lock();
        state.captured_buffers.insert(key, buffer.clone());
        Ok(buffer)
    }

    /// Records that kernels captured from `stream` from now on do not have to follow earlier ones.
    pub fn forget_captured_buffer(&self, graph: Graph, stream: StreamId) {
        self.state.lock().captured_buffers.remove(&(graph, stream));
    }

    /// Removes and returns the buffer whose last node in `graph` is one of `nodes`.
    pub fn take_chain(&self, graph: Graph, nodes: &[GraphNode]) -> Option<Arc<DrainBuffer>> {
        let mut state = self.state.lock();
        (nodes.iter()).find_map(|&node| state.chains.remove(&(graph, node)))
    }

    pub fn set_chain(&self, graph: Graph, tail: GraphNode, buffer: Arc<DrainBuffer>) {
        self.state.lock().chains.insert((graph, tail), buffer);
    }

    /// Records a kernel in a graph and the recorder's nodes around it (`own`). `handle` is the kernel's node, if known.
    pub fn add(&self, graph: Graph, handle: Option<GraphNode>, own: Vec<GraphNode>, node: Node) {
        let node = Arc::new(node);
        let mut state = self.state.lock();
        state.graphs.entry(graph).or_default().push(node.clone());
        if let Some(handle) = handle {
            state.nodes.insert(handle, KnownNode { graph, own, node });
        }
    }

    pub fn node(&self, handle: GraphNode) -> Option<KnownNode> {
        self.state.lock().nodes.get(&handle).cloned()
    }

    pub fn cloned(&self, clone: Graph, graph: Graph) {
        self.extend(clone, &self.of_graph(graph));
        let all = self.state.lock().nodes.clone();
        for (handle, known) in all.into_iter().filter(|(_, known)| known.graph == graph) {
            if let Some(node) = clone.find_in_clone(handle) {
                let own = known.own.iter();
                let known = KnownNode {
                    graph: clone,
                    own: own.filter_map(|&own| clone.find_in_clone(own)).collect(),
                    ..known
                };
                self.state.lock().nodes.insert(node, known);
            }
        }
    }

    /// Maps the recorder's nodes in all graphs to the program's kernel nodes that they belong to.
    pub fn owners(&self) -> HashMap<GraphNode, GraphNode> {
        let state = self.state.lock();
        let owners = (state.nodes.iter())
            .flat_map(|(&handle, known)| known.own.iter().map(move |&own| (own, handle)));
        owners.collect()
    }

    pub fn node_destroyed(&self, handle: GraphNode) -> Option<KnownNode> {
        let mut state = self.state.lock();
        let known = state.nodes.remove(&handle)?;
        if let Some(nodes) = state.graphs.get_mut(&known.graph) {
            nodes.retain(|node| !Arc::ptr_eq(node, &known.node));
        }
        Some(known)
    }

    /// Adds the launches of `part` to those of `graph`. Returns `false` and does nothing if the two share buffers,
    /// since they may run at the same time.
    pub fn extend(&self, graph: Graph, part: &[Arc<Node>]) -> bool {
        let mut state = self.state.lock();
        let nodes = state.graphs.entry(graph).or_default();
        let buffer = |node: &Arc<Node>| node.buffer().map(Arc::as_ptr);
        let shared = (part.iter().filter_map(buffer))
            .any(|new| nodes.iter().filter_map(buffer).any(|old| old == new));
        if !shared {
            nodes.extend_from_slice(part);
        }
        !shared
    }

    /// Returns the launches of a graph in the order in which they were added.
    pub fn of_graph(&self, graph: Graph) -> Vec<Arc<Node>> {
        let state = self.state.lock();
        state.graphs.get(&graph).cloned().unwrap_or_default()
    }

    pub fn nodes_of_instance(&self, instance: GraphExec) -> Vec<Arc<Node>> {
        let state = self.state.lock();
        state.instances.get(&instance).cloned().unwrap_or_default()
    }

    pub fn instantiated(&self, instance: GraphExec, graph: Graph) {
        let nodes = self.of_graph(graph);
        let mut state = self.state.lock();
        if nodes.is_empty() {
            state.instances.remove(&instance);
        } else {
            state.instances.insert(instance, nodes);
        }
    }

    pub fn destroyed(&self, graph: Graph) {
        let mut state = self.state.lock();
        state.graphs.remove(&graph);
        state.captured_buffers.retain(|(key, _), _| *key != graph);
        state.chains.retain(|(key, _), _| *key != graph);
        state.nodes.retain(|_, known| known.graph != graph);
    }

    pub fn instance_destroyed(&self, instance: GraphExec) {
        self.state.lock().instances.remove(&instance);
    }

    pub fn clear(&self) {
        *self.state.lock() = State::default();
    }
}
