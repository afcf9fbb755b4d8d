//! Reachability in graphs.

use std::collections::HashSet;
use std::hash::Hash;

/// Returns everything reachable from `start`, including `start` itself. Calls `next` once for each element.
pub fn reach<T: Copy + Eq + Hash, N: IntoIterator<Item = T>>(
    start: impl IntoIterator<Item = T>,
    mut next: impl FnMut(T) -> N,
) -> HashSet<T> {
    let mut pending = Vec::from_iter(start);
    let mut reached = HashSet::from_iter(pending.iter().copied());
    while let Some(element) = pending.pop() {
        pending.extend(next(element).into_iter().filter(|it| reached.insert(*it)));
    }
    reached
}
