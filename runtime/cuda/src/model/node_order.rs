//! The order in which the nodes of a CUDA graph run one by one, and why some graphs cannot be run so.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ffi::c_int;
use std::fmt;

/// Why the nodes of a graph cannot be run one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A `cudaGraphNodeType` that the shadow memory cannot follow.
    Node(c_int),
    /// The edges allow no order, or lead to nodes that are not the graph's.
    Edges,
    /// The program changed a node that is not known.
    Unknown,
    /// A call to CUDA failed.
    Cuda(String),
}

impl From<String> for Unfit {
    fn from(error: String) -> Self {
        Unfit::Cuda(error)
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Node(kind) => write!(
                f,
                "it has a node of the kind {}; leave that out of the graph, or trace the program",
                kind_name(*kind)
            ),
            Unfit::Edges => f.write_str("no order of its nodes agrees with its edges"),
            Unfit::Unknown => f.write_str(
                "a node was changed that was not found in the instance; instantiate the changed graph instead, or trace the program",
            ),
            Unfit::Cuda(error) => f.write_str(error),
        }
    }
}

fn kind_name(kind: c_int) -> String {
    let name = match kind {
        8 => "cudaGraphNodeTypeExtSemaphoreSignal (external semaphores)",
        9 => "cudaGraphNodeTypeExtSemaphoreWait (external semaphores)",
        10 => "cudaGraphNodeTypeMemAlloc (memory of the graph's own)",
        11 => "cudaGraphNodeTypeMemFree (memory of the graph's own)",
        12 => "CU_GRAPH_NODE_TYPE_BATCH_MEM_OP (batches of memory operations)",
        13 => "cudaGraphNodeTypeConditional (conditional nodes)",
        _ => return format!("{kind}, which Superstep does not know"),
    };
    name.to_owned()
}

/// The nodes in an order in which each comes behind those that it depends on, and otherwise as early as it stands in `nodes`: these
/// are as the program added them, which is how a trace numbers their launches.
pub fn node_order(nodes: &[usize], edges: &[[usize; 2]]) -> Result<Vec<usize>, Unfit> {
    let numbered = nodes.iter().enumerate().map(|(index, &node)| (node, index));
    let index: HashMap<usize, usize> = numbered.collect();
    let mut waits_for = vec![0usize; nodes.len()];
    let mut behind = vec![Vec::new(); nodes.len()];
    for [from, to] in edges {
        let (Some(&from), Some(&to)) = (index.get(from), index.get(to)) else {
            return Err(Unfit::Edges);
        };
        behind[from].push(to);
        waits_for[to] += 1;
    }
    let free = (0..nodes.len()).filter(|&node| waits_for[node] == 0);
    let mut free: BinaryHeap<_> = free.map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(next)) = free.pop() {
        order.push(nodes[next]);
        for &node in &behind[next] {
            waits_for[node] -= 1;
            if waits_for[node] == 0 {
                free.push(Reverse(node));
            }
        }
    }
    if order.len() == nodes.len() {
        Ok(order)
    } else {
        Err(Unfit::Edges)
    }
}

#[cfg(test)]
mod tests;
