//! The order in which the nodes of a CUDA graph run one by one.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

/// Sorts nodes so that each follows those that it depends on, and otherwise keeps the order of `nodes`: the program's, by which a
/// trace numbers their launches. `None` where the edges allow no order, or lead to other nodes.
pub fn node_order<N: Copy + Eq + Hash>(nodes: &[N], edges: &[[N; 2]]) -> Option<Vec<N>> {
    let numbered = nodes.iter().enumerate().map(|(index, &node)| (node, index));
    let index: HashMap<N, usize> = numbered.collect();
    let mut waits_for = vec![0usize; nodes.len()];
    let mut behind = vec![Vec::new(); nodes.len()];
    for [from, to] in edges {
        let (&from, &to) = (index.get(from)?, index.get(to)?);
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
    (order.len() == nodes.len()).then_some(order)
}

#[cfg(test)]
mod tests;
