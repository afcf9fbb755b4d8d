//! Tests for `arrays`.

use super::*;

#[test]
fn values_survive_a_copy_to_an_array_and_back() {
    let format = cudaCreateChannelDesc(32, 0, 0, 0, 2);
    let mut handle = std::ptr::null_mut();
    let (width, height, depth) = (3, 2, 0);
    let extent = cudaExtent {
        width,
        height,
        depth,
    };
    assert_eq!(allocate(&mut handle, &format, extent, 0), Ok(()));
    let values = [1u32, 2, 3, 4, 5, 6];
    let mut back = [0u32; 6];
    // SAFETY: both arrays have 6 elements.
    unsafe {
        assert_eq!(
            cudaMemcpyToArray(handle, 0, 0, values.as_ptr().cast(), 24, 1),
            0
        );
        assert_eq!(
            cudaMemcpy2DFromArray(back.as_mut_ptr().cast(), 12, handle, 0, 0, 12, 2, 2),
            0
        );
    }
    assert_eq!(back, values);
    // SAFETY: the function accepts invalid handles.
    let free = || CudaError(unsafe { cudaFreeArray(handle) });
    assert_eq!(
        (free(), free()),
        (CudaError(0), CudaError::INVALID_RESOURCE_HANDLE)
    );
}
