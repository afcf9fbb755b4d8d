//! Tests of `structures`.

use super::*;
use std::mem::{offset_of, size_of};

/// What a C compiler makes of the structures in the headers of CUDA 12.9.
#[test]
fn structures_have_the_layout_of_the_headers() {
    assert_eq!(offset_of!(KernelParameters, arguments), 40);
    assert_eq!(size_of::<KernelParameters>(), 56);
    assert_eq!(offset_of!(MemsetParameters, width), 24);
    assert_eq!(size_of::<MemsetParameters>(), 40);
    assert_eq!(offset_of!(Allocation, bytes), 104);
    assert_eq!(size_of::<Allocation>(), 120);
    assert_eq!(size_of::<UpdateResult>(), 24);
}
