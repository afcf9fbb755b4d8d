//! A multi-GPU model: the bytes that would cross between GPUs for each way of cutting the grids.

use super::{Source, ctas_of, share};
use crate::columns;
use crate::communication::Transfer;
use crate::error::Result;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use superstep_table::table;

/// Bandwidth of a GPU's link in each direction, in 10⁹ bytes per second: NVLink 4 on an H100 or H200.
pub const LINK_GB_PER_S: f64 = 450.0;

pub const GPUS: [u64; 3] = [2, 4, 8];

/// Ways to cut a grid: by a coordinate, or by CTA number into blocks of equal length.
pub const CUTS: [&str; 4] = ["x", "y", "z", "linear"];

/// Maximum ratio of the best cut's imbalance to the lowest imbalance of any cut.
const MAX_IMBALANCE_RATIO: f64 = 1.25;

table! {
    /// One way of cutting the grids for one number of GPUs.
    pub struct ScalingRow = "scaling": Deserialize {
        gpus: u64 ["GPUs"] = "number of GPUs";
        cut: String = "x, y, z, or linear: blocks of CTA numbers";
        best: bool = "whether the cut takes the least time among the cuts whose imbalance is close to the lowest";
        crossing_bytes: u64 ["bytes"] = "transfers between CTAs on different GPUs";
        share: f64 = columns::SHARE_OF_TRANSFERRED;
        imbalance: f64 = "maximum number of CTAs on one GPU, divided by the mean";
        link_s: f64 ["s"] = "sum over launches of the busiest link's time";
        link_gb_per_s: f64 ["GB/s"] = "bandwidth of a GPU's link in one direction";
    }
}

/// Returns the block that contains position `at` if `extent` is cut into `parts` blocks as evenly as possible.
fn part(at: u64, extent: u64, parts: u64) -> u64 {
    at * parts / extent.max(1)
}

/// Returns a row for every number of GPUs and every cut; `link_gb_per_s` is a GPU link's bandwidth in one direction.
pub(super) fn rows(source: &Source<'_>, link_gb_per_s: f64) -> Result<Vec<ScalingRow>> {
    let cases: Vec<(u64, usize)> = (GPUS.iter())
        .flat_map(|&gpus| (0..CUTS.len()).map(move |cut| (gpus, cut)))
        .collect();
    // The eighth of the grid that contains the CTA, for each cut. Halves and quarters are unions of eighths.
    let eighths = |launch: u32, cta: u32| -> [u64; CUTS.len()] {
        let [x, y, z] = source.grid(launch).map(u64::from);
        let [at_x, at_y, at_z] = source.coordinates(launch, cta).map(u64::from);
        let cta = (u64::from(source.cta_blocks.number(cta)), x * y * z);
        [(at_x, x), (at_y, y), (at_z, z), cta].map(|(at, extent)| part(at, extent, 8))
    };
    let new = || Sums {
        crossing: vec![0; cases.len()],
        ..Sums::default()
    };
    let no_bytes = || vec![[[0; 2]; 8]; cases.len()];
    let add = |sums: &mut Sums, transfers: &[Transfer]| {
        let from_eighths = eighths(transfers[0].source_launch, transfers[0].source_cta);
        for t in transfers {
            sums.all += t.bytes;
            let to_eighths = eighths(t.receiver_launch, t.receiver_cta);
            if from_eighths == to_eighths {
                continue;
            }
            for (case, &(gpus, cut)) in cases.iter().enumerate() {
                let (from, to) = (from_eighths[cut] * gpus / 8, to_eighths[cut] * gpus / 8);
                if from != to {
                    sums.crossing[case] += t.bytes;
                    let links = sums.links.entry(t.receiver_launch).or_insert_with(no_bytes);
                    links[case][from as usize][0] += t.bytes;
                    links[case][to as usize][1] += t.bytes;
                }
            }
        }
    };
    let Sums {
        links,
        crossing,
        all,
    } = source.communication.transfers.sum(new, add, Sums::join)?;
    let mut rows: Vec<ScalingRow> = (cases.iter().zip(crossing).enumerate())
        .map(|(case, (&(gpus, cut), crossing_bytes))| {
            let busiest: u64 = (links.values())
                .map(|links| links[case].iter().flatten().copied().max().unwrap_or(0))
                .sum();
            let (mut largest, mut ctas) = (0, 0);
            for grid in source.grids {
                let grid_ctas = ctas_of(grid);
                let extent = grid.get(cut).map_or(grid_ctas, |&extent| u64::from(extent));
                largest += grid_ctas / extent.max(1) * extent.div_ceil(gpus);
                ctas += grid_ctas;
            }
            ScalingRow {
                gpus,
                cut: CUTS[cut].to_owned(),
                best: false,
                crossing_bytes,
                share: share(crossing_bytes, all),
                imbalance: share(largest * gpus, ctas),
                link_s: busiest as f64 / (link_gb_per_s * 1e9),
                link_gb_per_s,
            }
        })
        .collect();
    for rows in rows.chunks_mut(CUTS.len()) {
        let imbalances = rows.iter().map(|row| row.imbalance);
        let lowest = imbalances.fold(f64::INFINITY, f64::min);
        let usable = (rows.iter_mut()).filter(|row| row.imbalance <= lowest * MAX_IMBALANCE_RATIO);
        if let Some(best) = usable.min_by(|a, b| a.link_s.total_cmp(&b.link_s)) {
            best.best = true;
        }
    }
    Ok(rows)
}

#[derive(Default)]
struct Sums {
    /// Bytes sent and received over each GPU's links, by receiving launch, (GPU count, cut) pair, and GPU.
    links: FxHashMap<u32, Vec<[[u64; 2]; 8]>>,
    /// Bytes, by (GPU count, cut) pair.
    crossing: Vec<u64>,
    all: u64,
}

impl Sums {
    fn join(&mut self, other: Self) {
        for (launch, more) in other.links {
            let links = self
                .links
                .entry(launch)
                .or_insert_with(|| vec![[[0; 2]; 8]; more.len()]);
            let links = links.iter_mut().flatten().flatten();
            let more = more.iter().flatten().flatten();
            links.zip(more).for_each(|(sum, more)| *sum += more);
        }
        let crossing = self.crossing.iter_mut().zip(other.crossing);
        crossing.for_each(|(sum, more)| *sum += more);
        self.all += other.all;
    }
}

#[cfg(test)]
mod tests;
