//! Results of SASSI's paper for programs of Rodinia, for comparison.
//!
//! Stephenson et al., "Flexible software profiling of GPU architectures", ISCA 2015, tables 1 to 3: a Tesla K40m, the largest inputs.
//! They counted SASS, the machine's own instructions, and their inputs are others.

use super::branches::BranchesRow;
use super::values::{
    DYNAMIC_CONSTANT_BITS, DYNAMIC_SCALAR, STATIC_CONSTANT_BITS, STATIC_SCALAR, ValuesRow,
};
use superstep_table::{Row, Table, table};

/// The suite whose programs these are.
pub const SUITE: &str = "rodinia";

/// Table 1: static branches, divergent ones, their percentage, dynamic branches in millions, and the percentage of divergent ones.
const BRANCHES: [(&str, [f64; 5]); 6] = [
    ("bfs", [7.0, 2.0, 29.0, 3.71, 14.2]),
    ("gaussian", [10.0, 4.0, 40.0, 492.38, 0.2]),
    ("heartwall", [161.0, 50.0, 31.0, 226.85, 42.1]),
    ("srad_v1", [28.0, 7.0, 25.0, 9.44, 0.5]),
    ("srad_v2", [19.0, 12.0, 63.0, 11.20, 21.3]),
    ("streamcluster", [7.0, 0.0, 0.0, 442.11, 0.0]),
];

/// Table 2: dynamic constant bits and scalar values, static ones, in per cent.
const VALUES: [(&str, [f64; 4]); 16] = [
    ("b+tree", [73.0, 76.0, 74.0, 80.0]),
    ("backprop", [73.0, 37.0, 72.0, 33.0]),
    ("bfs", [72.0, 44.0, 68.0, 38.0]),
    ("gaussian", [71.0, 54.0, 57.0, 50.0]),
    ("heartwall", [60.0, 11.0, 75.0, 54.0]),
    ("hotspot", [65.0, 43.0, 67.0, 43.0]),
    ("kmeans", [38.0, 33.0, 59.0, 51.0]),
    ("lavaMD", [46.0, 30.0, 54.0, 40.0]),
    ("lud", [33.0, 19.0, 42.0, 22.0]),
    ("mummergpu", [57.0, 12.0, 62.0, 18.0]),
    ("nn", [40.0, 31.0, 40.0, 31.0]),
    ("nw", [23.0, 16.0, 27.0, 18.0]),
    ("pathfinder", [66.0, 19.0, 65.0, 37.0]),
    ("srad_v1", [47.0, 26.0, 53.0, 35.0]),
    ("srad_v2", [48.0, 28.0, 60.0, 35.0]),
    ("streamcluster", [38.0, 54.0, 54.0, 42.0]),
];

/// Table 3: times of the whole program and of its kernels over those without instrumentation, of the studies of branches, memory
/// divergence and values.
const COSTS: [(&str, [[f64; 2]; 3]); 16] = [
    ("nn", [[1.0, 2.0], [1.0, 2.2], [0.9, 8.7]]),
    ("hotspot", [[1.1, 8.6], [1.0, 16.3], [1.0, 121.6]]),
    ("lud", [[1.0, 7.1], [1.0, 22.4], [1.3, 80.8]]),
    ("b+tree", [[1.0, 3.5], [1.0, 10.0], [1.3, 39.3]]),
    ("bfs", [[1.0, 4.7], [1.1, 14.0], [1.3, 34.4]]),
    ("pathfinder", [[1.1, 2.6], [1.1, 7.1], [1.2, 20.3]]),
    ("srad_v2", [[1.0, 5.1], [1.1, 12.3], [1.7, 69.1]]),
    ("mummergpu", [[1.1, 1.3], [1.1, 1.1], [1.2, 4.0]]),
    ("backprop", [[1.0, 1.5], [1.1, 5.4], [1.3, 17.8]]),
    ("kmeans", [[1.0, 2.1], [0.9, 2.4], [1.5, 26.7]]),
    ("lavaMD", [[1.4, 13.8], [2.1, 30.8], [17.7, 452.5]]),
    ("srad_v1", [[1.4, 8.5], [4.6, 62.0], [14.5, 227.8]]),
    ("nw", [[1.0, 1.0], [1.3, 5.3], [2.0, 13.9]]),
    ("gaussian", [[4.4, 18.7], [2.3, 8.4], [12.7, 69.4]]),
    ("streamcluster", [[2.0, 3.8], [8.7, 22.8], [34.7, 99.9]]),
    ("heartwall", [[9.9, 22.1], [30.0, 70.6], [103.3, 229.6]]),
];

fn find<T: Copy>(rows: &[(&str, T)], program: &str) -> Option<T> {
    let found = rows.iter().find(|(name, _)| *name == program);
    found.map(|(_, values)| *values)
}

/// Slowdown of `program` by `probe` in table 3: of the whole program and of its kernels.
pub(super) fn cost(suite: &str, probe: &str, program: &str) -> Option<[f64; 2]> {
    let study = ["branches", "memory-divergence", "values"]
        .iter()
        .position(|name| *name == probe)?;
    let costs = find(&COSTS, program).filter(|_| suite == SUITE)?;
    Some(costs[study])
}

table! {
    /// The conditional branches of each program, beside SASSI's table 1.
    struct BranchesBeside = "branches-published" {
        program: String = "the program";
        static_branches: u64 ["branches"] = "conditional branches in its device code";
        sassi_static_branches: f64 ["branches"] = "SASSI, table 1: static branches";
        static_divergent: u64 ["branches"] =
            "of those, branches at which a warp split at least once";
        sassi_static_divergent: f64 ["branches"] = "SASSI, table 1: divergent static branches";
        static_percent: f64 ["%"] = "the second of the first";
        sassi_static_percent: f64 ["%"] = "SASSI, table 1: their share";
        dynamic_percent: f64 ["%"] = "executions at which the warp split";
        sassi_dynamic_percent: f64 ["%"] = "SASSI, table 1: divergent executions of branches";
    }
}

table! {
    /// The values of each program, beside SASSI's table 2.
    struct ValuesBeside = "values-published" {
        program: String = "the program";
        dynamic_constant_bits_percent: f64 ["%"] = DYNAMIC_CONSTANT_BITS;
        sassi_dynamic_constant_bits: f64 ["%"] =
            "SASSI, table 2: constant bits of registers, dynamic";
        dynamic_scalar_percent: f64 ["%"] = DYNAMIC_SCALAR;
        sassi_dynamic_scalar: f64 ["%"] = "SASSI, table 2: scalar values, dynamic";
        static_constant_bits_percent: f64 ["%"] = STATIC_CONSTANT_BITS;
        sassi_static_constant_bits: f64 ["%"] = "SASSI, table 2: constant bits of registers, static";
        static_scalar_percent: f64 ["%"] = STATIC_SCALAR;
        sassi_static_scalar: f64 ["%"] = "SASSI, table 2: scalar values, static";
    }
}

/// The branches of programs of `suite` beside SASSI's, where that is their suite and has such programs.
pub(super) fn branches(suite: &str, summary: &[BranchesRow]) -> Option<Table> {
    beside(suite, summary, |row| {
        let sassi = find(&BRANCHES, &row.program)?;
        Some(BranchesBeside {
            program: row.program.clone(),
            static_branches: row.static_branches,
            sassi_static_branches: sassi[0],
            static_divergent: row.static_divergent,
            sassi_static_divergent: sassi[1],
            static_percent: row.static_percent,
            sassi_static_percent: sassi[2],
            dynamic_percent: row.dynamic_percent,
            sassi_dynamic_percent: sassi[4],
        })
    })
}

pub(super) fn values(suite: &str, summary: &[ValuesRow]) -> Option<Table> {
    beside(suite, summary, |row| {
        let sassi = find(&VALUES, &row.program)?;
        Some(ValuesBeside {
            program: row.program.clone(),
            dynamic_constant_bits_percent: row.dynamic_constant_bits_percent,
            sassi_dynamic_constant_bits: sassi[0],
            dynamic_scalar_percent: row.dynamic_scalar_percent,
            sassi_dynamic_scalar: sassi[1],
            static_constant_bits_percent: row.static_constant_bits_percent,
            sassi_static_constant_bits: sassi[2],
            static_scalar_percent: row.static_scalar_percent,
            sassi_static_scalar: sassi[3],
        })
    })
}

fn beside<R, B: Row>(suite: &str, rows: &[R], row: impl Fn(&R) -> Option<B>) -> Option<Table> {
    let found: Table = rows.iter().filter_map(row).collect();
    (suite == SUITE && found.rows() > 0).then_some(found)
}

#[cfg(test)]
mod tests;
