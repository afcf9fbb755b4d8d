//! Tests for `graphs`.

use super::*;

#[test]
fn a_cloned_graph_outlives_its_original() {
    let graph = new_graph();
    let first = add(graph, &[], Work::Empty).unwrap();
    let last = add(graph, &[first], Work::Empty).unwrap();
    assert!(add(graph, &[1], Work::Empty).is_err());
    let copy = clone(graph).unwrap();
    assert_eq!(GRAPHS.get(copy).unwrap().lock().edges().len(), 1);
    assert_eq!(destroy(graph), Ok(()));
    assert!(NODES.get(last).is_err() && GRAPHS.get(copy).is_ok());
}
