//! Tests for `node_graph`.

use super::*;

/// A reproducible pseudorandom number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = (self.0.wrapping_mul(0x5851_f42d_4c95_7f2d)).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn nodes_keep_their_order_where_the_edges_allow_it() {
    let nodes = vec![50, 10, 40, 20, 30];
    assert_eq!(
        NodeGraph::new(nodes.clone(), vec![]).in_order(),
        Ok(nodes.clone())
    );
    // An edge that occurs twice, and one from a node that was added later.
    let edges = vec![(50, 10), (50, 10), (30, 10), (40, 20)];
    let order = NodeGraph::new(nodes, edges).in_order();
    assert_eq!(order, Ok(vec![50, 40, 20, 30, 10]));
}

#[test]
fn each_node_comes_once_and_after_its_dependencies() {
    let mut numbers = Numbers(1);
    for _ in 0..200 {
        let count = 1 + numbers.below(40);
        let mut nodes: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            nodes.swap(last, numbers.below(last + 1));
        }
        // Edges go from lower to higher numbers, so a valid order exists.
        let edges: Vec<(usize, usize)> = (0..numbers.below(80))
            .map(|_| (numbers.below(count), numbers.below(count)))
            .filter(|(from, to)| from < to)
            .collect();
        let order = NodeGraph::new(nodes, edges.clone()).in_order().unwrap();
        let position = |node: usize| order.iter().position(|&other| other == node);
        assert!((0..count).all(|node| position(node).is_some()) && order.len() == count);
        assert!((edges.iter()).all(|&(from, to)| position(from) < position(to)));
    }
}

#[test]
fn impossible_edges_are_errors() {
    let graph = NodeGraph::new(vec![1, 2], vec![(1, 2), (2, 1)]);
    assert_eq!(graph.in_order(), Err(BadEdge));
    assert_eq!(
        NodeGraph::new(vec![1, 2], vec![(1, 3)]).in_order(),
        Err(BadEdge)
    );
    let mut graph = NodeGraph::default();
    graph.add(1, &[]);
    graph.add(2, &[1]);
    for edge in [(1, 2), (1, 1), (2, 3)] {
        assert_eq!(graph.add_edge(edge), Err(BadEdge));
    }
    assert_eq!(graph.remove_edge((2, 1)), Err(BadEdge));
    assert_eq!(graph.add_edge((2, 1)), Ok(()));
    assert_eq!(graph.remove_edge((1, 2)), Ok(()));
    let copy = graph.try_map(|node| Ok::<_, ()>(node + 10)).unwrap();
    assert_eq!(
        (copy.nodes(), copy.edges()),
        (&[11, 12][..], &[(12, 11)][..])
    );
    graph.remove(1);
    assert_eq!((graph.nodes(), graph.edges()), (&[2][..], &[][..]));
}
