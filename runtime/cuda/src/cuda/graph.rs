//! CUDA graphs: captures, nodes and instances.

use super::memory::forget_last_error;
use super::status::codes;
use super::{CudaError, Event, Graph, GraphExec, GraphNode, Status, Stream, ask, cuda, driver};
use cudarc::driver::sys::{CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMCPY3D_v2};
use cudarc::runtime::sys::{
    cudaGraphNodeType, cudaHostNodeParams, cudaKernelNodeParams, cudaMemsetParams,
    cudaStreamCaptureMode, cudaStreamCaptureStatus,
};
use std::array::from_fn;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// A `cudaGraphNodeType` from any version of CUDA.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeKind(pub c_int);

codes! { NodeKind of cudaGraphNodeType:
    KERNEL = cudaGraphNodeTypeKernel;
    COPY = cudaGraphNodeTypeMemcpy;
    FILL = cudaGraphNodeTypeMemset;
    HOST = cudaGraphNodeTypeHost;
    GRAPH = cudaGraphNodeTypeGraph;
    EMPTY = cudaGraphNodeTypeEmpty;
    WAIT = cudaGraphNodeTypeWaitEvent;
    RECORD = cudaGraphNodeTypeEventRecord;
    CONDITIONAL = cudaGraphNodeTypeConditional;
}

pub fn with_relaxed_capture<T>(work: impl FnOnce() -> T) -> T {
    let mode = relax_capture();
    let result = work();
    exchange_capture_mode(mode);
    result
}

/// Sets the calling thread's capture mode to relaxed; returns the previous mode.
pub fn relax_capture() -> c_int {
    exchange_capture_mode(cudaStreamCaptureMode::cudaStreamCaptureModeRelaxed as c_int)
}

fn exchange_capture_mode(mut mode: c_int) -> c_int {
    // SAFETY: the pointer points to an integer as large as the enumeration.
    unsafe { cuda!(cudaThreadExchangeStreamCaptureMode((&raw mut mode).cast())) };
    mode
}

/// Returns the graph into which `stream` is being captured and, if there is exactly one, the node on which the next
/// captured node will depend.
fn captured(stream: Stream) -> Option<(Graph, Option<GraphNode>)> {
    let (mut status, mut id, mut graph): (c_int, _, _) = (0, 0, null_mut());
    let (mut nodes, mut count) = (null(), 0);
    // SAFETY: the pointers point to pointers and to integers, one of them as large as the enumeration.
    let result = unsafe {
        cuda!(cudaStreamGetCaptureInfo_v2(
            stream.raw(),
            (&raw mut status).cast(),
            &mut id,
            &mut graph,
            &mut nodes,
            &mut count
        ))
    };
    if !result.is_success() {
        forget_last_error();
        return None;
    }
    // SAFETY: the runtime has just stored the node count; the nodes are valid until the next call for the stream.
    let last =
        (count == 1 && !nodes.is_null()).then(|| GraphNode::from_raw(unsafe { *nodes }.cast()));
    let is_active = status == cudaStreamCaptureStatus::cudaStreamCaptureStatusActive as c_int;
    (is_active && !graph.is_null()).then(|| (Graph::from_raw(graph.cast()), last))
}

pub fn captured_by(stream: Stream) -> Option<Graph> {
    captured(stream).map(|(graph, _)| graph)
}

/// Returns the node on which the next node captured from `stream` will depend, if there is exactly one such node.
pub fn last_captured(stream: Stream) -> Option<GraphNode> {
    captured(stream)?.1
}

/// The nodes in one row of a list from CUDA, and the data of the edge, if any, between them.
pub type Row<const NODES: usize> = ([GraphNode; NODES], u64);

/// Returns all rows of a list. `query` gets null pointers and a place for the row count, then columns with enough room.
pub fn rows<const NODES: usize>(
    has_data: bool,
    query: impl Fn([*mut GraphNode; NODES], *mut u64, *mut usize) -> Status,
) -> Result<Vec<Row<NODES>>, Status> {
    let mut count = 0;
    query([null_mut(); NODES], null_mut(), &mut count).ok()?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut columns: [Vec<GraphNode>; NODES] = from_fn(|_| vec![GraphNode::NULL; count]);
    let mut data = vec![0; count];
    let places = columns.each_mut().map(|column| column.as_mut_ptr());
    let place = if has_data {
        data.as_mut_ptr()
    } else {
        null_mut()
    };
    query(places, place, &mut count).ok()?;
    let row = |(row, data)| (columns.each_ref().map(|column| column[row]), data);
    Ok((0..).zip(data).take(count).map(row).collect())
}

impl Graph {
    pub fn nodes(self) -> Result<Vec<GraphNode>, CudaError> {
        let nodes = rows(false, |[nodes], _, count| {
            // SAFETY: `rows` passes null, or room for `count` handles.
            unsafe { cuda!(cudaGraphGetNodes(self.raw(), nodes.cast(), count)) }
        });
        let nodes = nodes.map_err(CudaError::of("list the nodes of a CUDA graph"))?;
        Ok(nodes.into_iter().map(|([node], _)| node).collect())
    }

    /// Returns all edges, each from a node to one that depends on it. Reads their data as well: otherwise, CUDA returns
    /// an error for edges that have data.
    pub fn edges(self) -> Result<Vec<(GraphNode, GraphNode)>, CudaError> {
        let edges = rows(true, |[from, to], data, count| {
            let (graph, from, to) = (self.raw(), from.cast(), to.cast());
            // SAFETY: `rows` passes null, or room for `count` handles and words; a word is as large as an edge's data.
            unsafe { cuda!(cudaGraphGetEdges_v2(graph, from, to, data.cast(), count)) }
        });
        let edges = edges.map_err(CudaError::of("list the edges of a CUDA graph"))?;
        Ok(edges
            .into_iter()
            .map(|([from, to], _)| (from, to))
            .collect())
    }

    pub fn find_in_clone(self, original: GraphNode) -> Option<GraphNode> {
        let (original, clone, mut found) = (original.raw(), self.raw(), null_mut());
        // SAFETY: the pointer points to a handle; the clone was just created from the node's graph.
        let status = unsafe { cuda!(cudaGraphNodeFindInClone(&mut found, original, clone)) };
        let found = GraphNode::from_raw(found.cast());
        status.is_success().then_some(found)
    }
}

/// Defines functions that read a property of a node.
macro_rules! parameters {
    ($($(#[$doc:meta])* fn $name:ident = $library:ident!($function:ident) -> $type:ty, $doing:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name(self) -> Result<$type, CudaError> {
            let mut place = MaybeUninit::<$type>::zeroed();
            // SAFETY: the pointer points to the structure; CUDA rejects nodes of other types.
            unsafe { $library!($function(self.raw(), place.as_mut_ptr().cast())) }.check($doing)?;
            // SAFETY: CUDA has filled the structure.
            Ok(unsafe { place.assume_init() })
        }
    )*};
}

impl GraphNode {
    parameters! {
        fn kind = cuda!(cudaGraphNodeGetType) -> NodeKind, "read the type of a node of a CUDA graph";
        fn child = cuda!(cudaGraphChildGraphNodeGetGraph) -> Graph, "find a CUDA graph inside another";
        fn kernel = driver!(cuGraphKernelNodeGetParams_v2) -> CUDA_KERNEL_NODE_PARAMS_v2, "read a kernel node of a CUDA graph";
        /// Reads the parameters of a node whose kernel is registered with the runtime.
        fn runtime_kernel = cuda!(cudaGraphKernelNodeGetParams) -> cudaKernelNodeParams, "read a kernel node of a CUDA graph";
        fn copy = driver!(cuGraphMemcpyNodeGetParams) -> CUDA_MEMCPY3D_v2, "read a copy node of a CUDA graph";
        fn fill = cuda!(cudaGraphMemsetNodeGetParams) -> cudaMemsetParams, "read a fill node of a CUDA graph";
        fn host = cuda!(cudaGraphHostNodeGetParams) -> cudaHostNodeParams, "read a host node of a CUDA graph";
        fn recorded_event = cuda!(cudaGraphEventRecordNodeGetEvent) -> Event, "read an event node of a CUDA graph";
        fn awaited_event = cuda!(cudaGraphEventWaitNodeGetEvent) -> Event, "read an event node of a CUDA graph";
    }

    pub fn destroy(self) {
        // SAFETY: this library added the node and does not use it again.
        unsafe { cuda!(cudaGraphDestroyNode(self.raw())) };
    }
}

/// A node in a graph of its own, with an instance of that graph if the node is to run.
pub struct SingleNode {
    graph: Graph,
    pub node: GraphNode,
    instance: GraphExec,
}

impl SingleNode {
    pub fn new(
        runs: bool,
        add: impl FnOnce(&mut GraphNode, Graph) -> Result<(), Status>,
    ) -> Result<Self, CudaError> {
        const DOING: &str = "copy a node of a CUDA graph";
        // SAFETY: the pointer points to a handle.
        let graph = ask(DOING, null_mut(), |graph| unsafe {
            cuda!(cudaGraphCreate(graph, 0))
        })?;
        let mut single = SingleNode {
            graph: Graph::from_raw(graph.cast()),
            node: GraphNode::NULL,
            instance: GraphExec::NULL,
        };
        add(&mut single.node, single.graph).map_err(CudaError::of(DOING))?;
        if runs {
            // SAFETY: the pointer points to a handle; the graph was created above.
            let instance = ask(DOING, null_mut(), |instance| unsafe {
                cuda!(cudaGraphInstantiateWithFlags(instance, graph, 0))
            })?;
            single.instance = GraphExec::from_raw(instance.cast());
        }
        Ok(single)
    }

    pub fn copy(runs: bool, copy: &CUDA_MEMCPY3D_v2) -> Result<Self, CudaError> {
        Self::new(runs, |node, graph| {
            let (node, graph) = (std::ptr::from_mut(node).cast(), graph.raw());
            let mut context = null_mut();
            // SAFETY: the pointers point to handles; the graph is this library's, the parameters are another node's.
            unsafe {
                driver!(cuCtxGetCurrent(&mut context)).ok()?;
                driver!(cuGraphAddMemcpyNode(node, graph, null(), 0, copy, context)).ok()
            }
        })
    }

    pub fn fill(runs: bool, fill: &cudaMemsetParams) -> Result<Self, CudaError> {
        Self::new(runs, |node, graph| {
            let (node, graph) = (std::ptr::from_mut(node).cast(), graph.raw());
            // SAFETY: the graph belongs to this library; the parameters belong to another node.
            unsafe { cuda!(cudaGraphAddMemsetNode(node, graph, null(), 0, fill)) }.ok()
        })
    }

    /// Creates a node that runs the same kernel as the node `original`.
    pub fn kernel(
        original: GraphNode,
        parameters: &CUDA_KERNEL_NODE_PARAMS_v2,
    ) -> Result<Self, CudaError> {
        Self::new(true, |node, graph| {
            let (place, graph) = (std::ptr::from_mut(node).cast(), graph.raw());
            // SAFETY: the graph belongs to this library; the driver copies the other node's arguments.
            unsafe {
                driver!(cuGraphAddKernelNode_v2(place, graph, null(), 0, parameters)).ok()?;
                driver!(cuGraphKernelNodeCopyAttributes(node.raw(), original.raw())).ok()
            }
        })
    }

    pub fn launch(&self, stream: Stream) -> Status {
        // SAFETY: the instance lives as long as this value.
        unsafe { cuda!(cudaGraphLaunch(self.instance.raw(), stream.raw())) }
    }

    /// Changes the kernel's parameters for later launches.
    pub fn change(&self, parameters: &CUDA_KERNEL_NODE_PARAMS_v2) -> Status {
        let (instance, node) = (self.instance.raw(), self.node.raw());
        // SAFETY: the instance lives as long as this value; the driver copies the arguments.
        unsafe {
            driver!(cuGraphExecKernelNodeSetParams_v2(
                instance, node, parameters
            ))
        }
    }

    pub fn set(&self, set: impl FnOnce(GraphNode) -> Status) -> Result<(), CudaError> {
        const DOING: &str = "change a node of a CUDA graph";
        set(self.node).check(DOING)?;
        if self.instance.is_null() {
            return Ok(());
        }
        let (instance, graph) = (self.instance.raw(), self.graph.raw());
        let mut result = MaybeUninit::uninit();
        let place = result.as_mut_ptr();
        // SAFETY: graph and instance live as long as this value; the pointer points to a structure, which is not read.
        unsafe { cuda!(cudaGraphExecUpdate(instance, graph, place)) }.check(DOING)
    }
}

impl Drop for SingleNode {
    fn drop(&mut self) {
        // SAFETY: this library owns both handles. If the instance is still running, CUDA frees it once it has finished.
        unsafe {
            if !self.instance.is_null() {
                cuda!(cudaGraphExecDestroy(self.instance.raw()));
            }
            cuda!(cudaGraphDestroy(self.graph.raw()));
        }
    }
}
