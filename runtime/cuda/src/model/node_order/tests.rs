//! Tests of `node_order`.

use super::*;
use crate::tests::Numbers;

#[test]
fn nodes_keep_their_order_where_the_edges_allow_it() {
    let nodes = [50, 10, 40, 20, 30];
    assert_eq!(node_order(&nodes, &[]), Some(nodes.to_vec()));
    // An edge that stands twice, and one from a node that was added later.
    let edges = [[50, 10], [50, 10], [30, 10], [40, 20]];
    let expected = vec![50, 40, 20, 30, 10];
    assert_eq!(node_order(&nodes, &edges), Some(expected));
}

#[test]
fn each_node_comes_once_and_behind_what_it_depends_on() {
    let mut numbers = Numbers(1);
    for _ in 0..200 {
        let count = 1 + numbers.below(40) as usize;
        let mut nodes: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            nodes.swap(last, numbers.below(last as u64 + 1) as usize);
        }
        // From lower to higher numbers, so there is an order.
        let edges: Vec<[usize; 2]> = (0..numbers.below(80))
            .map(|_| [0; 2].map(|_: usize| numbers.below(count as u64) as usize))
            .filter(|[from, to]| from < to)
            .collect();
        let order = node_order(&nodes, &edges).unwrap();
        let place = |node: usize| order.iter().position(|&one| one == node);
        assert!(nodes.iter().all(|&node| place(node).is_some()) && order.len() == count);
        assert!(edges.iter().all(|&[from, to]| place(from) < place(to)));
    }
}

#[test]
fn edges_without_an_order_are_an_error() {
    assert_eq!(node_order(&[1, 2], &[[1, 2], [2, 1]]), None);
    assert_eq!(node_order(&[1, 2], &[[1, 3]]), None);
}
