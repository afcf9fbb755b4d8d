//! Tests for `limits`.

use super::*;

#[test]
fn limits_are_inclusive_and_empty_extents_are_invalid() {
    let block = [1024, 1, 1];
    assert!(is_configuration([1; 3], block) && is_configuration(MAX_GRID, [16, 1, 64]));
    assert!(!is_configuration([1; 3], [1025, 1, 1]) && !is_configuration([1; 3], [1, 1, 65]));
    assert!(!is_configuration([1; 3], [512, 4, 1]) && !is_configuration([1, 65536, 1], block));
    assert!(!is_configuration([1, 0, 1], block) && !is_configuration([1; 3], [0, 1, 1]));
}
