//! Tests for `bins`.

use super::*;

#[test]
fn each_bin_extends_to_the_start_of_the_next() {
    let index = |value| bin(&DEGREE_BINS, value);
    assert_eq!(index(0), None);
    assert_eq!((index(1), index(3), index(4)), (Some(0), Some(1), Some(2)));
    assert_eq!((index(9_999), index(10_000)), (Some(10), Some(11)));
    assert_eq!(index(u64::MAX), Some(11));
    assert_eq!(bin(&STRIDE_BINS, 100_000), Some(12));
}
