//! Tests for `launch`.

use super::*;
use std::mem::{offset_of, size_of};

#[test]
fn configurations_are_a_stack() {
    let dim = |x| dim3 { x, y: 1, z: 1 };
    __cudaPushCallConfiguration(dim(1), dim(2), 3, 4 as *mut c_void);
    __cudaPushCallConfiguration(dim(5), dim(6), 7, std::ptr::null_mut());
    let (mut grid, mut block, mut bytes, mut stream) = (dim(0), dim(0), 0, std::ptr::null_mut());
    // SAFETY: all pointers are valid.
    let mut pop =
        || unsafe { __cudaPopCallConfiguration(&mut grid, &mut block, &mut bytes, &mut stream) };
    assert_eq!(
        (pop(), pop(), pop()),
        (0, 0, CudaError::MISSING_CONFIGURATION.0)
    );
    assert_eq!(
        (grid, block, bytes, stream as usize),
        (dim(1), dim(2), 3, 4)
    );
}

#[test]
fn structures_have_the_same_layout_as_in_the_headers() {
    assert_eq!(offset_of!(LaunchAttribute, value), 8);
    assert_eq!(size_of::<LaunchAttribute>(), 72);
}
