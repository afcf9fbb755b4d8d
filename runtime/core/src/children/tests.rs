//! Tests for `children`.

use super::*;

#[test]
fn a_stream_waits_for_its_kernels_children_and_streams_take_turns() {
    let piece = |cta, stream, work: u64| Child { cta, stream, work };
    let mut order = Vec::new();
    let children = vec![
        piece(1, 0, 30),
        piece(0, 0, 1),
        piece(0, 7, 20),
        piece(0, 0, 2),
    ];
    let run = |name| {
        order.push(name);
        Ok::<_, ()>(match name {
            1 => vec![piece(0, 0, 11), piece(0, 7, 12)],
            11 => vec![piece(0, 0, 111)],
            _ => Vec::new(),
        })
    };
    assert_eq!(run_all(children, run), Ok(()));
    assert_eq!(order, [1, 20, 30, 11, 12, 111, 2]);
    assert_eq!(run_all(vec![piece(0, 0, 1)], |_| Err("no")), Err("no"));
}
