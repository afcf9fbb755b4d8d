//! Hides the nodes that recorders added to the program's graphs.
//!
//! An added node counts as its kernel: edges to it lead to the kernel, and edges from it come from the kernel.

use crate::cuda::{GraphNode, Status};
use crate::model::graphs::Graphs;
use std::array::from_fn;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ptr::null_mut;

/// Nodes of one row, and the data of their edge.
type Row<const NODES: usize> = ([GraphNode; NODES], u64);

/// Kernels of the program's by the nodes that recorders added around them.
struct Owners(HashMap<GraphNode, GraphNode>);

impl Owners {
    /// `None` where no graph has nodes of the recorder's.
    fn of(graphs: &Graphs) -> Option<Self> {
        let owners = graphs.owners();
        (!owners.is_empty()).then_some(Owners(owners))
    }

    fn shown(&self, node: GraphNode) -> GraphNode {
        self.0.get(&node).copied().unwrap_or(node)
    }
}

pub fn nodes(
    graphs: &Graphs,
    nodes: *mut GraphNode,
    count: *mut usize,
    ask: impl Fn(*mut GraphNode, *mut usize) -> Status,
) -> Status {
    let Some(owners) = Owners::of(graphs).filter(|_| !count.is_null()) else {
        return ask(nodes, count);
    };
    match rows(false, |[nodes], _, count| ask(nodes, count)) {
        Ok(all) => {
            let shown = all
                .into_iter()
                .map(|([node], data)| ([owners.shown(node)], data));
            give(shown, [nodes], null_mut(), count)
        }
        Err(error) => error,
    }
}

pub fn edges(
    graphs: &Graphs,
    ends: [*mut GraphNode; 2],
    data: *mut u64,
    count: *mut usize,
    ask: impl Fn([*mut GraphNode; 2], *mut u64, *mut usize) -> Status,
) -> Status {
    let Some(owners) = Owners::of(graphs).filter(|_| !count.is_null()) else {
        return ask(ends, data, count);
    };
    match rows(!data.is_null(), ask) {
        Ok(all) => {
            let shown =
                (all.into_iter()).map(|(ends, data)| (ends.map(|it| owners.shown(it)), data));
            let shown = shown.filter(|([from, to], _)| from != to);
            give(shown, ends, data, count)
        }
        Err(error) => error,
    }
}

/// The nodes that `node` depends on, or those that depend on it.
pub fn neighbours(
    graphs: &Graphs,
    node: GraphNode,
    nodes: *mut GraphNode,
    data: *mut u64,
    count: *mut usize,
    ask: impl Fn(GraphNode, *mut GraphNode, *mut u64, *mut usize) -> Status,
) -> Status {
    let Some(owners) = Owners::of(graphs).filter(|_| !count.is_null()) else {
        return ask(node, nodes, data, count);
    };
    let own = owners.0.iter().filter(|(_, owner)| **owner == node);
    let own = own.map(|(&own, _)| own);
    let mut all = Vec::new();
    for member in [node].into_iter().chain(own) {
        match rows(!data.is_null(), |[nodes], data, count| {
            ask(member, nodes, data, count)
        }) {
            Ok(more) => all.extend(more),
            Err(error) => return error,
        }
    }
    let shown = all
        .into_iter()
        .map(|([node], data)| ([owners.shown(node)], data));
    give(
        shown.filter(|([other], _)| *other != node),
        [nodes],
        data,
        count,
    )
}

/// All rows that `ask` has; without data, unless the program wants them: CUDA then refuses edges that have some.
fn rows<const NODES: usize>(
    has_data: bool,
    ask: impl Fn([*mut GraphNode; NODES], *mut u64, *mut usize) -> Status,
) -> Result<Vec<Row<NODES>>, Status> {
    let mut count = 0;
    let error = ask([null_mut(); NODES], null_mut(), &mut count);
    if error != Status::SUCCESS {
        return Err(error);
    }
    let mut columns: [Vec<GraphNode>; NODES] = from_fn(|_| vec![GraphNode::NULL; count]);
    let mut data = vec![0; count];
    let places = columns.each_mut().map(|column| column.as_mut_ptr());
    let place = if has_data {
        data.as_mut_ptr()
    } else {
        null_mut()
    };
    let error = ask(places, place, &mut count);
    if error != Status::SUCCESS {
        return Err(error);
    }
    let row = |(row, data)| (columns.each_ref().map(|column| column[row]), data);
    Ok((0..).zip(data).take(count).map(row).collect())
}

/// Gives the program each of `rows` once, as CUDA does: how many there are, or as many as it has room for and null behind them.
fn give<const NODES: usize>(
    rows: impl Iterator<Item = Row<NODES>>,
    columns: [*mut GraphNode; NODES],
    data: *mut u64,
    count: *mut usize,
) -> Status
where
    [GraphNode; NODES]: Hash + Eq,
{
    let mut seen = HashSet::new();
    let rows: Vec<_> = rows.filter(|(nodes, _)| seen.insert(*nodes)).collect();
    // SAFETY: the program gives room for a number, and for as many rows as it says there.
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
