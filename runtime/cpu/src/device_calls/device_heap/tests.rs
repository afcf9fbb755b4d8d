//! Tests for `device_heap`.

use super::*;

#[test]
fn blocks_are_reused_and_the_arena_is_finite() {
    let first = allocate(100);
    assert!(first != 0 && range_of(first).is_some());
    assert!(free(first));
    assert_eq!(allocate(90), first, "the same size class");
    assert!(!free(12));
    assert_eq!(allocate(DEFAULT_HEAP_BYTES), 0);
    assert_eq!(allocate(u64::MAX), 0);
}
