//! Figure 6.6: who talks to whom how often, over all kernels and supersteps.

use super::{Row, Source};
use crate::error::Result;
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};

/// CTAs of the first map, and cells of the second one, in each direction.
pub const SIDE: u64 = 200;

/// A cell in which something was transferred.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DensityRow {
    /// `first`: one cell for each pair of the first 200 CTAs; `whole`: the whole grid in at most 200 by 200 cells.
    pub map: String,
    /// Cells of the map in each direction.
    pub side: u64,
    /// CTA numbers that the map spans in each direction.
    pub ctas: u64,
    /// Column: the source's CTA number; in the whole map times `side` over `ctas`.
    pub source: u64,
    /// Row: the receiver's.
    pub receiver: u64,
    /// Reads that communicate: `count` of the transfers.
    pub count: u64,
}

impl Row for DensityRow {
    const TABLE: &'static str = "density";
    const COLUMNS: &'static [Column] = &[
        column(
            "map",
            "",
            "first: the first 200 CTAs; whole: all, in at most 200 by 200 cells",
        ),
        column("side", "cells", "cells of the map in each direction"),
        column(
            "ctas",
            "CTAs",
            "CTA numbers that the map spans in each direction",
        ),
        column(
            "source",
            "",
            "column: source CTA, numbered by x, then y, then z",
        ),
        column("receiver", "", "row: receiving CTA, numbered likewise"),
        column(
            "count",
            "reads",
            "distinct (address, width) reads of the transfers",
        ),
    ];
}

/// Both maps, cells in order; empty cells are left out.
///
/// # Errors
/// [`crate::AnalysisError::Spill`] when the transfers are on disk and cannot be read.
pub fn rows(source: &Source<'_>) -> Result<Vec<DensityRow>> {
    let numbers = source
        .grids
        .iter()
        .map(|grid| grid.iter().map(|&n| u64::from(n)).product());
    let ctas: u64 = numbers.max().unwrap_or(0).max(1);
    let side = ctas.min(SIDE);
    let mut first = vec![0; (side * side) as usize];
    let mut whole = first.clone();
    let cell = |from: u64, to: u64| (to * side + from) as usize;
    source.transfers().each(|t| {
        let from = number(source, t.source_launch, t.source_cta);
        let to = number(source, t.receiver_launch, t.receiver_cta);
        if from < side && to < side {
            first[cell(from, to)] += t.count;
        }
        whole[cell(from * side / ctas, to * side / ctas)] += t.count;
    })?;
    let mut rows = of("first", side, side, &first);
    rows.extend(of("whole", side, ctas, &whole));
    Ok(rows)
}

/// A CTA's place when all of its grid are ordered by x, then y, then z.
fn number(source: &Source<'_>, launch: u32, cta: u32) -> u64 {
    let [x, y, z] = source.coordinates(launch, cta).map(u64::from);
    let [_, height, depth] = source.grid(launch).map(u64::from);
    (x * height + y) * depth + z
}

fn of(map: &str, side: u64, ctas: u64, cells: &[u64]) -> Vec<DensityRow> {
    (0..side * side)
        .zip(cells)
        .filter(|&(_, &count)| count > 0)
        .map(|(cell, &count)| DensityRow {
            map: map.to_owned(),
            side,
            ctas,
            source: cell % side,
            receiver: cell / side,
            count,
        })
        .collect()
}
