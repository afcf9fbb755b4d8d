//! Nodes and edges of a graph.

use super::{GRAPHS, Graph, NODES, Work, destroy};
use crate::errors::{CudaError, CudaResult, cuda, given, put};
use std::ffi::{c_int, c_uint};
use superstep_runtime_core::BadEdge;

/// Writes as many handles as there is room for, or only their number if `places` is null.
fn write_handles(handles: &[usize], places: *mut usize, count: *mut usize) -> CudaResult {
    let capacity = *given(count)?;
    if !places.is_null() {
        for index in 0..capacity {
            let handle = handles.get(index).copied().unwrap_or(0);
            // SAFETY: the program passes an array of this size.
            unsafe { places.add(index).write(handle) };
        }
        if capacity < handles.len() {
            return put(count, capacity);
        }
    }
    put(count, handles.len())
}

fn nodes(handle: usize, filter: impl Fn(&Graph, usize) -> bool) -> Result<Vec<usize>, CudaError> {
    let graph = GRAPHS.get(handle)?;
    let graph = graph.lock();
    let all = graph.nodes().iter().copied();
    Ok(all.filter(|&node| filter(&graph, node)).collect())
}

fn change(
    handle: usize,
    from: *const usize,
    to: *const usize,
    count: usize,
    change: impl Fn(&mut Graph, (usize, usize)) -> Result<(), BadEdge>,
) -> CudaResult {
    let graph = GRAPHS.get(handle)?;
    let mut graph = graph.lock();
    for index in 0..count {
        // SAFETY: the program passes two arrays of this many handles.
        let edge = unsafe { (from.add(index).read(), to.add(index).read()) };
        change(&mut graph, edge).map_err(|BadEdge| CudaError::INVALID_VALUE)?;
    }
    Ok(())
}

cuda! {
    fn [cudaGraphGetNodes](graph: usize, places: *mut usize, count: *mut usize) {
        write_handles(&nodes(graph, |_, _| true)?, places, count)
    }

    fn [cudaGraphGetRootNodes](graph: usize, places: *mut usize, count: *mut usize) {
        let is_root = |graph: &Graph, node| graph.edges().iter().all(|edge| edge.1 != node);
        write_handles(&nodes(graph, is_root)?, places, count)
    }

    fn [cudaGraphGetEdges](handle: usize, from: *mut usize, to: *mut usize, count: *mut usize) {
        let graph = GRAPHS.get(handle)?;
        let (sources, targets): (Vec<usize>, Vec<usize>) = graph.lock().edges().iter().copied().unzip();
        if from.is_null() || to.is_null() {
            return put(count, sources.len());
        }
        let capacity = *given(count)?;
        write_handles(&sources, from, count)?;
        put(count, capacity)?;
        write_handles(&targets, to, count)
    }

    fn [cudaGraphNodeGetDependencies](handle: usize, places: *mut usize, count: *mut usize) {
        let is_dependency = |graph: &Graph, node| graph.edges().contains(&(node, handle));
        write_handles(&nodes(NODES.get(handle)?.graph, is_dependency)?, places, count)
    }

    fn [cudaGraphNodeGetDependentNodes](handle: usize, places: *mut usize, count: *mut usize) {
        let is_dependent = |graph: &Graph, node| graph.edges().contains(&(handle, node));
        write_handles(&nodes(NODES.get(handle)?.graph, is_dependent)?, places, count)
    }

    fn [cudaGraphAddDependencies](graph: usize, from: *const usize, to: *const usize, count: usize) {
        change(graph, from, to, count, Graph::add_edge)
    }

    fn [cudaGraphRemoveDependencies](graph: usize, from: *const usize, to: *const usize, count: usize) {
        change(graph, from, to, count, Graph::remove_edge)
    }

    fn [cudaGraphDestroyNode](node: usize) {
        let removed = NODES.remove(node)?;
        GRAPHS.get(removed.graph)?.lock().remove(node);
        match *removed.work.lock() {
            Work::Child(child) => destroy(child),
            _ => Ok(()),
        }
    }

    fn [cudaGraphNodeGetType](handle: usize, kind: *mut c_int) {
        put(kind, NODES.get(handle)?.work.lock().number())
    }

    fn [cudaGraphCreate](graph: *mut usize, _flags: c_uint) {
        put(graph, super::new_graph())
    }

    fn [cudaGraphDestroy](graph: usize) {
        destroy(graph)
    }

    fn [cudaGraphClone](copy: *mut usize, original: usize) {
        put(copy, super::clone(original)?)
    }

    fn [cudaGraphNodeFindInClone](found: *mut usize, original: usize, copy: usize) {
        let is_copy = |_: &Graph, handle| NODES.get(handle).is_ok_and(|node| node.original == original);
        let copies = nodes(copy, is_copy)?;
        put(found, copies.first().copied().ok_or(CudaError::INVALID_VALUE)?)
    }
}

#[cfg(test)]
mod tests;
