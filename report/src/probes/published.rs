//! What SASSI's paper published about programs of Rodinia, to stand beside what is found here.
//!
//! Stephenson et al., "Flexible software profiling of GPU architectures", ISCA 2015, tables 1 to 3: a Tesla K40m, the largest inputs.
//! They counted SASS, the machine's own instructions, and their inputs are others.

use serde_json::{Value, json};
use superstep_analysis::tables::{Table, column};

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

/// What `probe` cost `program` of the suite of that name in table 3: the whole program's time and its kernels', over those without.
pub(super) fn cost(suite: &str, probe: &str, program: &str) -> Option<[f64; 2]> {
    let study = ["branches", "memory-divergence", "values"]
        .iter()
        .position(|name| *name == probe)?;
    let costs = find(&COSTS, program).filter(|_| suite == SUITE)?;
    Some(costs[study])
}

/// Rows of `summary` beside the published ones of the same programs; `None` where there are none.
fn beside<const N: usize, const M: usize>(
    name: &'static str,
    summary: &Table,
    ours: [&str; M],
    theirs: [(&'static str, &'static str, &'static str, usize); M],
    published: &[(&str, [f64; N])],
) -> Option<Table> {
    let mut columns = vec![column("program", "", "the program")];
    let places = ours.map(|name| summary.columns.iter().position(|c| c.name == name));
    for (place, (name, unit, note, _)) in places.iter().zip(theirs) {
        columns.extend(place.map(|at| summary.columns[at]));
        columns.push(column(name, unit, note));
    }
    let rows: Vec<Vec<Value>> = (summary.rows.iter())
        .filter_map(|row| {
            let values = find(published, row.first()?.as_str()?)?;
            let mut cells = vec![row[0].clone()];
            for (place, (.., index)) in places.iter().zip(theirs) {
                cells.extend(place.map(|at| row[at].clone()));
                cells.push(json!(values[index]));
            }
            Some(cells)
        })
        .collect();
    (!rows.is_empty()).then_some(Table {
        name,
        columns,
        rows,
    })
}

/// `summary`, the first table of the study of `probe`, beside SASSI's table of the same, where `suite` is theirs and has such programs.
pub(super) fn comparison(suite: &str, probe: &str, summary: &Table) -> Option<Table> {
    match probe {
        _ if suite != SUITE => None,
        "branches" => beside(
            "branches-published",
            summary,
            [
                "static_branches",
                "static_divergent",
                "static_percent",
                "dynamic_percent",
            ],
            [
                (
                    "sassi_static_branches",
                    "branches",
                    "SASSI, table 1: static branches",
                    0,
                ),
                (
                    "sassi_static_divergent",
                    "branches",
                    "SASSI, table 1: divergent static branches",
                    1,
                ),
                (
                    "sassi_static_percent",
                    "%",
                    "SASSI, table 1: their share",
                    2,
                ),
                (
                    "sassi_dynamic_percent",
                    "%",
                    "SASSI, table 1: divergent executions of branches",
                    4,
                ),
            ],
            &BRANCHES,
        ),
        "values" => beside(
            "values-published",
            summary,
            [
                "dynamic_constant_bits_percent",
                "dynamic_scalar_percent",
                "static_constant_bits_percent",
                "static_scalar_percent",
            ],
            [
                (
                    "sassi_dynamic_constant_bits",
                    "%",
                    "SASSI, table 2: constant bits of registers, dynamic",
                    0,
                ),
                (
                    "sassi_dynamic_scalar",
                    "%",
                    "SASSI, table 2: scalar values, dynamic",
                    1,
                ),
                (
                    "sassi_static_constant_bits",
                    "%",
                    "SASSI, table 2: constant bits of registers, static",
                    2,
                ),
                (
                    "sassi_static_scalar",
                    "%",
                    "SASSI, table 2: scalar values, static",
                    3,
                ),
            ],
            &VALUES,
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers_stand_beside_those_of_the_same_program() {
        let summary = Table {
            name: "branches",
            columns: [
                "program",
                "static_branches",
                "static_divergent",
                "static_percent",
                "dynamic_branches",
                "dynamic_divergent",
                "dynamic_percent",
            ]
            .map(|name| column(name, "", ""))
            .to_vec(),
            rows: vec![
                vec![
                    json!("nn"),
                    json!(1),
                    json!(1),
                    json!(100.0),
                    json!(2),
                    json!(1),
                    json!(50.0),
                ],
                vec![
                    json!("srad_v2"),
                    json!(19),
                    json!(12),
                    json!(63.1),
                    json!(9),
                    json!(3),
                    json!(33.3),
                ],
            ],
        };
        let table = comparison("rodinia", "branches", &summary).unwrap();
        assert_eq!(table.rows.len(), 1, "nn is not in table 1");
        let row = &table.rows[0];
        assert_eq!(row[0], "srad_v2");
        assert_eq!(row[1..3], [json!(19), json!(19.0)]);
        assert_eq!(row[7..], [json!(33.3), json!(21.3)]);
        assert_eq!(row.len(), table.columns.len());
        assert_eq!(comparison("thesis", "branches", &summary), None);
        assert_eq!(comparison("rodinia", "cta-clocks", &summary), None);
        assert_eq!(cost("rodinia", "values", "heartwall"), Some([103.3, 229.6]));
        assert_eq!(cost("thesis", "values", "bfs"), None);
    }
}
