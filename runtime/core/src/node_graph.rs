//! The shape of a CUDA graph: its nodes, in the order in which they were added, and their dependencies.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::Hash;

/// Handles of nodes, and edges from a node to one that depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeGraph<N> {
    nodes: Vec<N>,
    edges: Vec<(N, N)>,
}

/// An edge that connects a node to itself or to a node in another graph, already exists, or closes a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no order of the graph's nodes satisfies its edges")]
pub struct BadEdge;

impl<N: Copy + Eq + Hash> NodeGraph<N> {
    /// Creates a graph from CUDA's description, in which an edge may occur more than once.
    pub fn new(nodes: Vec<N>, edges: Vec<(N, N)>) -> Self {
        NodeGraph { nodes, edges }
    }

    pub fn nodes(&self) -> &[N] {
        &self.nodes
    }

    pub fn edges(&self) -> &[(N, N)] {
        &self.edges
    }

    pub fn has(&self, nodes: &[N]) -> bool {
        nodes.iter().all(|node| self.nodes.contains(node))
    }

    /// Adds `node`, which depends on `dependencies`; these must be nodes of this graph.
    pub fn add(&mut self, node: N, dependencies: &[N]) {
        self.nodes.push(node);
        let edges = dependencies.iter().map(|&dependency| (dependency, node));
        self.edges.extend(edges);
    }

    pub fn remove(&mut self, node: N) {
        self.nodes.retain(|&other| other != node);
        self.edges.retain(|edge| edge.0 != node && edge.1 != node);
    }

    pub fn add_edge(&mut self, edge: (N, N)) -> Result<(), BadEdge> {
        let is_new = edge.0 != edge.1 && !self.edges.contains(&edge);
        if !is_new || !self.has(&[edge.0, edge.1]) {
            return Err(BadEdge);
        }
        self.edges.push(edge);
        Ok(())
    }

    pub fn remove_edge(&mut self, edge: (N, N)) -> Result<(), BadEdge> {
        let before = self.edges.len();
        self.edges.retain(|&other| other != edge);
        (self.edges.len() < before).then_some(()).ok_or(BadEdge)
    }

    /// Copies the graph; `copy` returns the new handle of a node.
    pub fn try_map<E>(&self, mut copy: impl FnMut(N) -> Result<N, E>) -> Result<Self, E> {
        let mut copies = FxHashMap::default();
        for &node in &self.nodes {
            copies.insert(node, copy(node)?);
        }
        Ok(NodeGraph {
            nodes: self.nodes.iter().map(|node| copies[node]).collect(),
            edges: (self.edges.iter())
                .map(|(before, after)| (copies[before], copies[after]))
                .collect(),
        })
    }

    /// Returns the nodes in the order in which a trace numbers launches: each node after its dependencies, and
    /// otherwise in the order in which they were added.
    pub fn in_order(&self) -> Result<Vec<N>, BadEdge> {
        let nodes = &self.nodes;
        let numbered = nodes.iter().enumerate().map(|(index, &node)| (node, index));
        let index: FxHashMap<N, usize> = numbered.collect();
        let mut waits_for = vec![0usize; nodes.len()];
        let mut after = vec![Vec::new(); nodes.len()];
        for (from, to) in &self.edges {
            let (Some(&from), Some(&to)) = (index.get(from), index.get(to)) else {
                return Err(BadEdge);
            };
            after[from].push(to);
            waits_for[to] += 1;
        }
        let free = (0..nodes.len()).filter(|&node| waits_for[node] == 0);
        let mut free: BinaryHeap<_> = free.map(Reverse).collect();
        let mut order = Vec::with_capacity(nodes.len());
        while let Some(Reverse(next)) = free.pop() {
            order.push(nodes[next]);
            for &node in &after[next] {
                waits_for[node] -= 1;
                if waits_for[node] == 0 {
                    free.push(Reverse(node));
                }
            }
        }
        let is_whole = order.len() == nodes.len();
        is_whole.then_some(order).ok_or(BadEdge)
    }
}

#[cfg(test)]
mod tests;
