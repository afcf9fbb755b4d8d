//! Results of SASSI's paper for programs of Rodinia, for comparison.
//!
//! Stephenson et al., "Flexible software profiling of GPU architectures", ISCA 2015, tables 1 to 3: a Tesla K40m, the largest inputs.
//! They counted SASS, the machine's own instructions, and their inputs are others.

/// The suite whose programs these are.
const SUITE: &str = "rodinia";

/// Table 1: static branches, divergent ones, their percentage, and that of divergent executions.
pub(super) const BRANCHES: [(&str, [f64; 4]); 6] = [
    ("bfs", [7.0, 2.0, 29.0, 14.2]),
    ("gaussian", [10.0, 4.0, 40.0, 0.2]),
    ("heartwall", [161.0, 50.0, 31.0, 42.1]),
    ("srad_v1", [28.0, 7.0, 25.0, 0.5]),
    ("srad_v2", [19.0, 12.0, 63.0, 21.3]),
    ("streamcluster", [7.0, 0.0, 0.0, 0.0]),
];

/// Table 2: dynamic constant bits and scalar values, static ones, in per cent.
pub(super) const VALUES: [(&str, [f64; 4]); 16] = [
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

/// Numbers of `program` in one of the tables; `None` if it is of another suite, or not in the table.
pub(super) fn find<T: Copy>(suite: &str, rows: &[(&str, T)], program: &str) -> Option<T> {
    let found = rows.iter().find(|(name, _)| *name == program);
    found.filter(|_| suite == SUITE).map(|(_, values)| *values)
}

/// Slowdown of `program` by `probe` in table 3: of the whole program and of its kernels.
pub(super) fn cost(suite: &str, probe: &str, program: &str) -> Option<[f64; 2]> {
    let studies = ["branches", "memory-divergence", "values"];
    let study = studies.iter().position(|name| *name == probe)?;
    Some(find(suite, &COSTS, program)?[study])
}
