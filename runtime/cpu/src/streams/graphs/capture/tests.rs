//! Tests for `capture`.

use super::*;
use std::ptr::null_mut;

#[test]
fn streams_join_a_capture_through_events() {
    let mut streams = [null_mut(); 2];
    for stream in &mut streams {
        assert_eq!(crate::streams::create(stream, 0, 0), Ok(()));
    }
    let [first, second] = streams;
    let nothing = |_: *mut c_void| Ok(());
    assert_eq!(
        submit(first, Kind::Copy, |_| Err(CudaError::INVALID_VALUE)),
        Err(CudaError::INVALID_VALUE),
        "outside a capture, calls run immediately"
    );
    let graph = new_graph();
    assert_eq!(
        begin(null_mut(), graph, &[]),
        Err(CudaError::STREAM_CAPTURE_UNSUPPORTED)
    );
    assert_eq!(begin(first, graph, &[]), Ok(()));
    assert_eq!(begin(first, graph, &[]), Err(CudaError::ILLEGAL_STATE));
    submit(first, Kind::Copy, nothing).unwrap();
    join(second, capture_of(first).unwrap());
    submit(second, Kind::Memset, nothing).unwrap();
    submit(first, Kind::Memset, nothing).unwrap();
    let late = capture_of(second).unwrap();
    join(first, late.clone());
    submit(first, Kind::Copy, nothing).unwrap();
    assert_eq!(
        refuse_if_capturing(second),
        Err(CudaError::STREAM_CAPTURE_UNSUPPORTED)
    );
    assert_eq!(end(second), Err(CudaError::STREAM_CAPTURE_UNMATCHED));
    assert_eq!(end(first), Ok(graph));
    join(second, late);
    assert!(!stream_is_capturing(second));
    let model = GRAPHS.get(graph).unwrap();
    let model = model.lock();
    let (nodes, edges) = (model.nodes(), model.edges());
    assert_eq!(model.in_order().unwrap(), nodes);
    let between = |a: usize, b: usize| edges.contains(&(nodes[a], nodes[b]));
    assert!(between(0, 1) && between(0, 2) && between(1, 3) && between(2, 3));
    assert_eq!(edges.len(), 4);
}
