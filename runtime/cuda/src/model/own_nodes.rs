//! Hides the nodes that recorders added to the program's graphs: each is reported as the kernel node it belongs to.

use crate::cuda::graph::{Row, rows};
use crate::cuda::{GraphNode, Status};
use crate::model::graphs::Graphs;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ptr::null_mut;

/// The program's kernel nodes, by the nodes that recorders added around them.
type Owners = HashMap<GraphNode, GraphNode>;

/// Returns the owners of all nodes, or `None` if there are none or the program passes no `count`.
fn owners(graphs: &Graphs, count: *mut usize) -> Option<Owners> {
    let owners = graphs.owners();
    (!owners.is_empty() && !count.is_null()).then_some(owners)
}

pub fn nodes(
    graphs: &Graphs,
    nodes: *mut GraphNode,
    count: *mut usize,
    query: impl Fn(*mut GraphNode, *mut usize) -> Status,
) -> Status {
    let Some(owners) = owners(graphs, count) else {
        return query(nodes, count);
    };
    let all = rows(false, |[nodes], _, count| query(nodes, count));
    let all = all.map(|all| replace_own(&owners, all));
    write_rows(all, [nodes], null_mut(), count)
}

pub fn edges(
    graphs: &Graphs,
    ends: [*mut GraphNode; 2],
    data: *mut u64,
    count: *mut usize,
    query: impl Fn([*mut GraphNode; 2], *mut u64, *mut usize) -> Status,
) -> Status {
    let Some(owners) = owners(graphs, count) else {
        return query(ends, data, count);
    };
    // Requests edge data only if the program does. Otherwise, CUDA must still reject graphs whose edges have data.
    let all = rows(!data.is_null(), query);
    let others = |all| replace_own(&owners, all).filter(|([from, to], _)| from != to);
    write_rows(all.map(others), ends, data, count)
}

/// Lists the nodes that `node` depends on, or those that depend on it.
pub fn neighbours(
    graphs: &Graphs,
    node: GraphNode,
    nodes: *mut GraphNode,
    data: *mut u64,
    count: *mut usize,
    query: impl Fn(GraphNode, *mut GraphNode, *mut u64, *mut usize) -> Status,
) -> Status {
    let Some(owners) = owners(graphs, count) else {
        return query(node, nodes, data, count);
    };
    let own = owners.iter().filter(|(_, owner)| **owner == node);
    let members = [node].into_iter().chain(own.map(|(&own, _)| own));
    let all = members.map(|member| {
        rows(!data.is_null(), |[nodes], data, count| {
            query(member, nodes, data, count)
        })
    });
    let all: Result<Vec<_>, _> = all.collect();
    let others =
        |all: Vec<_>| replace_own(&owners, all.concat()).filter(|([other], _)| *other != node);
    write_rows(all.map(others), [nodes], data, count)
}

/// Replaces the recorders' nodes in rows with the nodes of their kernels.
fn replace_own<const NODES: usize>(
    owners: &Owners,
    rows: Vec<Row<NODES>>,
) -> impl Iterator<Item = Row<NODES>> {
    let owner = |node| owners.get(&node).copied().unwrap_or(node);
    (rows.into_iter()).map(move |(nodes, data)| (nodes.map(owner), data))
}

/// Passes `rows` to the program without duplicates. Like CUDA, passes either just the number of rows or as many rows as
/// fit, padded with nulls.
fn write_rows<const NODES: usize>(
    rows: Result<impl Iterator<Item = Row<NODES>>, Status>,
    columns: [*mut GraphNode; NODES],
    data: *mut u64,
    count: *mut usize,
) -> Status
where
    [GraphNode; NODES]: Hash + Eq,
{
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => return error,
    };
    let mut seen = HashSet::new();
    let rows: Vec<_> = rows.filter(|(nodes, _)| seen.insert(*nodes)).collect();
    // SAFETY: the program passes a pointer to a count, and columns with room for that many rows.
    unsafe {
        if columns.iter().any(|column| column.is_null()) {
            *count = rows.len();
            return Status::SUCCESS;
        }
        for row in 0..*count {
            let (nodes, edge) = rows
                .get(row)
                .copied()
                .unwrap_or(([GraphNode::NULL; NODES], 0));
            for (column, node) in columns.into_iter().zip(nodes) {
                *column.add(row) = node;
            }
            if !data.is_null() {
                *data.add(row) = edge;
            }
        }
        *count = rows.len().min(*count);
    }
    Status::SUCCESS
}
