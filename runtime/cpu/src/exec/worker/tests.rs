//! Tests for `worker`.

use super::*;

#[test]
fn threads_are_numbered_x_first() {
    assert_eq!(thread_coordinates(0, [8, 4, 2]), [0, 0, 0]);
    assert_eq!(thread_coordinates(9, [8, 4, 2]), [1, 1, 0]);
    assert_eq!(thread_coordinates(63, [8, 4, 2]), [7, 3, 1]);
}

#[test]
fn host_threads_are_not_workers() {
    assert!(current().is_none());
}
