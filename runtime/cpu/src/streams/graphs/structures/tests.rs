//! Tests for `structures`.

use super::*;
use std::mem::{offset_of, size_of};

/// Sizes and offsets from a C compiler and the headers of CUDA 12.9.
#[test]
fn structures_have_the_same_layout_as_in_the_headers() {
    assert_eq!(offset_of!(Allocation, bytes), 104);
    assert_eq!(size_of::<Allocation>(), 120);
}
