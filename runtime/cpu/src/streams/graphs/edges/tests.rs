//! Tests for `edges`.

use super::*;
use crate::streams::graphs::{add, new_graph};

#[test]
fn edges_are_added_queried_and_removed() {
    let graph = new_graph();
    let [a, b] = [(); 2].map(|()| add(graph, &[], Work::Empty).unwrap());
    let (mut places, mut count) = ([0; 3], 3);
    // SAFETY: all pointers are valid.
    unsafe {
        assert_eq!(cudaGraphAddDependencies(graph, &a, &b, 1), 0);
        assert_ne!(
            cudaGraphAddDependencies(graph, &a, &b, 1),
            0,
            "the edge already exists"
        );
        assert_eq!(
            cudaGraphNodeGetDependencies(b, places.as_mut_ptr(), &mut count),
            0
        );
        assert_eq!((places, count), ([a, 0, 0], 1));
        assert_eq!(
            cudaGraphGetRootNodes(graph, std::ptr::null_mut(), &mut count),
            0
        );
        assert_eq!(count, 1);
        assert_eq!(cudaGraphRemoveDependencies(graph, &a, &b, 1), 0);
        assert_eq!(cudaGraphDestroyNode(a), 0);
        assert_eq!(cudaGraphGetNodes(graph, places.as_mut_ptr(), &mut count), 0);
    }
    assert_eq!((places[0], count), (b, 1));
}
