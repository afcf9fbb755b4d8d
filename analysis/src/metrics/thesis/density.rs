//! Figure 6.6: communication between CTAs, over all kernels and supersteps.

use crate::error::Result;
use crate::metrics::CtaWindow;
use crate::metrics::{Source, ctas_of};
use serde::Deserialize;
use std::ops::RangeInclusive;
use superstep_table::table;

/// Number of CTAs along each axis of the first map, and maximum number of cells along each axis of the others.
pub const SIDE: u64 = 200;

table! {
    /// A cell with transfers.
    pub struct DensityRow = "density": Eq, Deserialize {
        map: String =
            "first: the first 200 CTAs; whole: all CTAs, in at most 200 by 200 cells; part: selected CTAs, likewise";
        side: u64 ["cells"] = "cells along each axis of the map, or along the longer axis if they differ";
        ctas: u64 ["CTAs"] =
            "CTA numbers along each axis of the map, or along the longer axis if they differ";
        source: u64 = "cell from the left: source CTAs, numbered by x, then y, then z";
        receiver: u64 = "cell from the bottom: receiving CTAs, numbered likewise";
        count: u64 ["reads"] = "distinct (address, width) reads of the transfers";
        first_source: u64 = "source CTA at the left edge";
        source_ctas: u64 ["CTAs"] = "source CTAs from left to right";
        first_receiver: u64 = "receiving CTA at the bottom edge";
        receiver_ctas: u64 ["CTAs"] = "receiving CTAs from bottom to top";
    }
}

/// CTA numbers along one axis of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub first: u64,
    /// Number of CTAs, at least one.
    pub ctas: u64,
}

impl Axis {
    pub fn cells(&self) -> u64 {
        self.ctas.min(SIDE)
    }

    /// Returns the cell of CTA number `cta`, if it is on the axis.
    pub fn cell(&self, cta: u64) -> Option<u64> {
        let at = cta.checked_sub(self.first)?;
        (at < self.ctas).then(|| at * self.cells() / self.ctas)
    }
}

impl DensityRow {
    pub fn axes(&self) -> [Axis; 2] {
        [
            (self.first_source, self.source_ctas),
            (self.first_receiver, self.receiver_ctas),
        ]
        .map(|(first, ctas)| Axis {
            first,
            ctas: ctas.max(1),
        })
    }
}

#[derive(Clone)]
struct Map {
    name: &'static str,
    axes: [Axis; 2],
    counts: Vec<u64>,
}

impl Map {
    fn new(name: &'static str, axes: [Axis; 2]) -> Self {
        let cells = axes.iter().map(Axis::cells).product::<u64>();
        let counts = vec![0; cells as usize];
        Self { name, axes, counts }
    }

    fn add(&mut self, from: u64, to: u64, count: u64) {
        let [sources, receivers] = &self.axes;
        if let (Some(column), Some(row)) = (sources.cell(from), receivers.cell(to)) {
            self.counts[(row * sources.cells() + column) as usize] += count;
        }
    }

    fn into_rows(self) -> impl Iterator<Item = DensityRow> {
        let Self { name, axes, counts } = self;
        let [sources, receivers] = axes;
        // The first cell of an empty window is included, so that the window is shown.
        let is_empty = name == "part" && counts.iter().all(|&count| count == 0);
        let is_shown = move |&(cell, count): &(u64, u64)| count > 0 || is_empty && cell == 0;
        (0..)
            .zip(counts)
            .filter(is_shown)
            .map(move |(cell, count)| DensityRow {
                map: name.to_owned(),
                side: sources.cells().max(receivers.cells()),
                ctas: sources.ctas.max(receivers.ctas),
                source: cell % sources.cells(),
                receiver: cell / sources.cells(),
                count,
                first_source: sources.first,
                source_ctas: sources.ctas,
                first_receiver: receivers.first,
                receiver_ctas: receivers.ctas,
            })
    }
}

/// Returns the maps of the first CTAs, of all CTAs and of `window`, without empty cells (except the first one of an
/// empty window). Maps end at the highest numbers that occur, a window at the end of the largest grid.
pub(in crate::metrics) fn rows(
    source: &Source<'_>,
    window: Option<&CtaWindow>,
) -> Result<Vec<DensityRow>> {
    let numbers = source.grids.iter().map(ctas_of);
    let ctas: u64 = numbers.max().unwrap_or(0).max(1);
    // Only the numbers that occur: a launch of 4000 CTAs can send to one of 64.
    let transfers = &source.communication.transfers;
    let larger = |used: &mut [u64; 2], other: [u64; 2]| {
        *used = [used[0].max(other[0]), used[1].max(other[1])];
    };
    let used = transfers.sum(
        || [1; 2],
        |used, transfers| {
            let from = number(source, transfers[0].source_launch, transfers[0].source_cta);
            for t in transfers {
                let to = number(source, t.receiver_launch, t.receiver_cta);
                larger(used, [from + 1, to + 1]);
            }
        },
        larger,
    )?;
    let axis = |ctas: u64| Axis { first: 0, ctas };
    let up_to = |limit| used.map(|ctas| axis(ctas.min(limit)));
    let [first, whole] = [up_to(SIDE), up_to(ctas)];
    let mut empty = vec![Map::new("first", first), Map::new("whole", whole)];
    if let Some(window) = window {
        let axis = |range: &RangeInclusive<u64>| {
            let first = *range.start();
            let last = (*range.end()).min((ctas - 1).max(first));
            Axis {
                first,
                ctas: last - first + 1,
            }
        };
        let axes = [&window.sources, &window.receivers].map(axis);
        empty.push(Map::new("part", axes));
    }
    let maps = transfers.sum(
        || empty.clone(),
        |maps, transfers| {
            let from = number(source, transfers[0].source_launch, transfers[0].source_cta);
            for t in transfers {
                let to = number(source, t.receiver_launch, t.receiver_cta);
                maps.iter_mut().for_each(|map| map.add(from, to, t.count));
            }
        },
        |maps, more| {
            let counts = maps.iter_mut().flat_map(|map| &mut map.counts);
            let others = more.iter().flat_map(|map| &map.counts);
            counts.zip(others).for_each(|(sum, more)| *sum += more);
        },
    )?;
    Ok(maps.into_iter().flat_map(Map::into_rows).collect())
}

/// Returns a CTA's number when the CTAs in its grid are ordered by x, then y, then z.
fn number(source: &Source<'_>, launch: u32, cta: u32) -> u64 {
    let [x, y, z] = source.coordinates(launch, cta).map(u64::from);
    let [_, height, depth] = source.grid(launch).map(u64::from);
    (x * height + y) * depth + z
}
