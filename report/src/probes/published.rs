//! SASSI's results for programs of Rodinia, for comparison.

use crate::papers::{RODINIA, rodinia};
use std::collections::BTreeMap;

/// Returns the numbers of `program`; `None` if it is in another suite or not in the table.
pub(super) fn find<T: Copy>(suite: &str, rows: &BTreeMap<String, T>, program: &str) -> Option<T> {
    rows.get(program).filter(|_| suite == RODINIA).copied()
}

/// Returns the slowdown of `program` by `probe` in table 3, for the whole program and for its kernels.
pub(super) fn cost(suite: &str, probe: &str, program: &str) -> Option<[f64; 2]> {
    let studies = ["branches", "memory-divergence", "values"];
    let study = studies.iter().position(|name| *name == probe)?;
    Some(find(suite, &rodinia().costs, program)?[study])
}
