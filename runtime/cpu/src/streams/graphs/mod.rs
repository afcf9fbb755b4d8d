//! CUDA graphs: each node stores the work of a call, and instances run that work.
//!
//! `capture` turns calls in a stream into nodes; `nodes` and `edges` add, read and change nodes and their dependencies.
//! `instances` runs nodes in turn, each after its dependencies and otherwise in the order in which they were added,
//! which is the order of launches in the trace.

mod capture;
mod edges;
mod instances;
mod nodes;
mod structures;

pub use capture::{Capture, Kind, capture_of, join, refuse_if_capturing, submit, submit_launch};

use crate::errors::{CudaError, CudaResult, fail_if};
use crate::exec::arguments::OwnedArguments;
use crate::exec::launch::{self, LaunchRequest};
use crate::handles::Handles;
use crate::memory::copies_3d::copy_3d;
use crate::memory::memset;
use capture::stream_is_capturing;
use cudarc::runtime::sys::{cudaHostNodeParams, cudaMemsetParams};
use parking_lot::Mutex;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use superstep_runtime_core::NodeGraph;
use superstep_runtime_core::cuda::Copy3d;

/// A call in a graph; its argument is the stream in which the graph is launched.
type Deferred = Arc<dyn Fn(*mut c_void) -> CudaResult>;

#[derive(Clone)]
enum Work {
    Kernel(LaunchRequest, Arc<OwnedArguments>),
    Copy(Box<Copy3d>),
    Fill(cudaMemsetParams),
    Host(cudaHostNodeParams),
    Child(usize),
    Empty,
    Wait(usize),
    Record(usize),
    Allocate(structures::Allocation),
    Free(u64),
    /// Any other copy or memset.
    Call(Kind, Deferred),
}

// SAFETY: the fields and the closures contain only integers, and addresses that only the program and its CUDA calls
// dereference; any host thread may call the closures.
unsafe impl Send for Work {}
// SAFETY: nothing changes through a shared reference.
unsafe impl Sync for Work {}

impl Work {
    /// `cudaGraphNodeType`.
    fn number(&self) -> c_int {
        match self {
            Work::Kernel(..) => 0,
            Work::Copy(_) | Work::Call(Kind::Copy, _) => 1,
            Work::Fill(_) | Work::Call(Kind::Memset, _) => 2,
            Work::Host(_) => 3,
            Work::Child(_) => 4,
            Work::Empty => 5,
            Work::Wait(_) => 6,
            Work::Record(_) => 7,
            Work::Allocate(_) => 10,
            Work::Free(_) => 11,
        }
    }

    /// Replaces the work of a node with work of the same kind.
    fn replace(&mut self, new: Work) -> CudaResult {
        fail_if(self.number() != new.number(), CudaError::INVALID_VALUE)?;
        *self = new;
        Ok(())
    }

    fn run(&self, stream: *mut c_void) -> CudaResult {
        match self {
            Work::Kernel(request, arguments) => {
                launch::launch(*request, arguments.pointers(), stream)
            }
            Work::Copy(copy) => copy_3d("a graph's copy", copy, stream),
            Work::Fill(fill) => memset::fill_elements(fill, stream),
            Work::Host(host) => structures::call(host),
            Work::Record(event) => crate::streams::events::record(*event as *mut c_void, stream),
            Work::Call(_, call) => call(stream),
            // A graph's memory is allocated in advance, and its events have already happened.
            Work::Empty | Work::Wait(_) | Work::Allocate(_) | Work::Child(_) => Ok(()),
            Work::Free(address) => structures::free(*address),
        }
    }
}

pub fn host_function(stream: *mut c_void, host: cudaHostNodeParams) -> CudaResult {
    if capture::append(stream, Work::Host(host))? {
        return Ok(());
    }
    structures::call(&host)
}

/// Adds a node for an event to the capture of `stream`; returns `false` if the stream is not being captured.
pub fn external(stream: *mut c_void, event: *mut c_void, is_wait: bool) -> Result<bool, CudaError> {
    let event = event as usize;
    let work = if is_wait {
        Work::Wait(event)
    } else {
        Work::Record(event)
    };
    capture::append(stream, work)
}

/// Allocates memory; if `stream` is being captured, the allocation becomes a node of the graph.
pub fn allocate_in(stream: *mut c_void, bytes: usize) -> Result<*mut c_void, CudaError> {
    if !stream_is_capturing(stream) {
        let kind = superstep_trace::AllocationKind::Device;
        return Ok(crate::memory::allocate(bytes, kind)? as *mut c_void);
    }
    let allocation = structures::Allocation::new(bytes)?;
    capture::append(stream, Work::Allocate(allocation))?;
    Ok(allocation.address)
}

/// Frees memory in stream order.
pub fn free_in(stream: *mut c_void, address: u64) -> CudaResult {
    if capture::append(stream, Work::Free(address))? {
        return Ok(());
    }
    structures::free(address)
}

struct Node {
    graph: usize,
    work: Mutex<Work>,
    /// The node from which this one was cloned, or 0.
    original: usize,
}

type Graph = NodeGraph<usize>;

static NODES: Handles<Node> = Handles::new();
static GRAPHS: Handles<Mutex<Graph>> = Handles::new();

fn new_graph() -> usize {
    GRAPHS.insert(Mutex::default())
}

/// Adds a node that depends on other nodes of the same graph.
fn add(to: usize, dependencies: &[usize], work: Work) -> Result<usize, CudaError> {
    let graph = GRAPHS.get(to)?;
    let mut graph = graph.lock();
    fail_if(!graph.has(dependencies), CudaError::INVALID_VALUE)?;
    let added = new_node(to, work, 0);
    graph.add(added, dependencies);
    Ok(added)
}

fn new_node(graph: usize, work: Work, original: usize) -> usize {
    let node = Node {
        graph,
        work: Mutex::new(work),
        original,
    };
    NODES.insert(node)
}

fn clone(from: usize) -> Result<usize, CudaError> {
    let original = GRAPHS.get(from)?.lock().clone();
    let to = new_graph();
    let copy = original.try_map(|handle| {
        let mut work = NODES.get(handle)?.work.lock().clone();
        if let Work::Child(child) = work {
            work = Work::Child(clone(child)?);
        }
        Ok(new_node(to, work, handle))
    })?;
    *GRAPHS.get(to)?.lock() = copy;
    Ok(to)
}

fn destroy(handle: usize) -> CudaResult {
    let graph = GRAPHS.remove(handle)?;
    for &handle in graph.lock().nodes() {
        let node = NODES.remove(handle)?;
        if let Work::Child(child) = *node.work.lock() {
            destroy(child)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
