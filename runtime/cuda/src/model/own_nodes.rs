//! The nodes that the program sees of its graphs: all but those around its kernels that are ours.
//!
//! A node of ours counts as its kernel: what leads to it leads to the kernel, and what it leads to follows the kernel.

use crate::cuda::ffi::{self, Error, GraphNode};
use crate::recorder::runtime::runtime;
use std::array::from_fn;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ptr::null_mut;

/// Nodes side by side, and the data of the edge that they stand for.
type Row<const NODES: usize> = ([GraphNode; NODES], u64);

/// Kernels of the program's by the nodes of ours around them.
struct Owners(HashMap<usize, usize>);

impl Owners {
    /// `None` where no graph has nodes of ours.
    fn get() -> Option<Self> {
        let owners = runtime().graphs.owners();
        (!owners.is_empty()).then_some(Owners(owners))
    }

    /// The program's node that `node` is or belongs to.
    fn shown(&self, node: GraphNode) -> GraphNode {
        let owner = self.0.get(&(node as usize));
        owner.map_or(node, |&owner| owner as GraphNode)
    }
}

/// Nodes of a graph, as `ask` asks for them.
pub fn nodes(
    nodes: *mut GraphNode,
    count: *mut usize,
    ask: impl Fn(*mut GraphNode, *mut usize) -> Error,
) -> Error {
    let Some(owners) = Owners::get().filter(|_| !count.is_null()) else {
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

/// Edges of a graph: where they begin and where they end.
pub fn edges(
    ends: [*mut GraphNode; 2],
    data: *mut u64,
    count: *mut usize,
    ask: impl Fn([*mut GraphNode; 2], *mut u64, *mut usize) -> Error,
) -> Error {
    let Some(owners) = Owners::get().filter(|_| !count.is_null()) else {
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
    node: GraphNode,
    nodes: *mut GraphNode,
    data: *mut u64,
    count: *mut usize,
    ask: impl Fn(GraphNode, *mut GraphNode, *mut u64, *mut usize) -> Error,
) -> Error {
    let Some(owners) = Owners::get().filter(|_| !count.is_null()) else {
        return ask(node, nodes, data, count);
    };
    let own = owners
        .0
        .iter()
        .filter(|(_, owner)| **owner == node as usize);
    let own = own.map(|(&own, _)| own as GraphNode);
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
    ask: impl Fn([*mut GraphNode; NODES], *mut u64, *mut usize) -> Error,
) -> Result<Vec<Row<NODES>>, Error> {
    let mut count = 0;
    let error = ask([null_mut(); NODES], null_mut(), &mut count);
    if error != ffi::SUCCESS {
        return Err(error);
    }
    let mut columns: [Vec<GraphNode>; NODES] = from_fn(|_| vec![null_mut(); count]);
    let mut data = vec![0; count];
    let places = columns.each_mut().map(|column| column.as_mut_ptr());
    let place = if has_data {
        data.as_mut_ptr()
    } else {
        null_mut()
    };
    let error = ask(places, place, &mut count);
    if error != ffi::SUCCESS {
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
) -> Error
where
    [GraphNode; NODES]: Hash + Eq,
{
    let mut seen = HashSet::new();
    let rows: Vec<_> = rows.filter(|(nodes, _)| seen.insert(*nodes)).collect();
    // SAFETY: the program gives room for a number, and for as many rows as it says there.
    unsafe {
        if columns.iter().any(|column| column.is_null()) {
            *count = rows.len();
            return ffi::SUCCESS;
        }
        for row in 0..*count {
            let (nodes, edge) = rows.get(row).copied().unwrap_or(([null_mut(); NODES], 0));
            for (column, node) in columns.into_iter().zip(nodes) {
                *column.add(row) = node;
            }
            if !data.is_null() {
                *data.add(row) = edge;
            }
        }
        *count = rows.len().min(*count);
    }
    ffi::SUCCESS
}
