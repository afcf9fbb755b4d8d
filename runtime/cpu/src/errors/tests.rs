//! Tests for `errors`.

use super::*;

#[test]
fn table_is_sorted_and_contains_the_codes_of_this_library() {
    assert!(ERRORS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    for error in [
        CudaError::INVALID_VALUE,
        CudaError::ILLEGAL_ADDRESS,
        CudaError::ASSERT,
        CudaError::INVALID_DEVICE_FUNCTION,
    ] {
        assert_ne!(describe(error.0).0, UNRECOGNIZED, "{error:?}");
    }
    assert_eq!(
        describe(700),
        (
            c"cudaErrorIllegalAddress",
            c"an illegal memory access was encountered"
        )
    );
    assert_eq!(describe(10_000).0, UNRECOGNIZED);
}

#[test]
fn names_and_messages_are_c_strings() {
    // SAFETY: both functions return pointers to static NUL-terminated strings.
    let (name, text) = unsafe {
        (
            CStr::from_ptr(cudaGetErrorName(2)),
            CStr::from_ptr(cudaGetErrorString(2)),
        )
    };
    assert_eq!(
        (name.to_bytes(), text.to_bytes()),
        (&b"cudaErrorMemoryAllocation"[..], &b"out of memory"[..])
    );
    // SAFETY: CUDA's messages are NUL-terminated constants.
    let unknown = unsafe { CStr::from_ptr(cudaGetErrorString(-5)) };
    assert_eq!(unknown, UNRECOGNIZED);
}

#[test]
fn the_last_error_is_cleared_when_read() {
    assert_eq!(code_of(Err(CudaError::INVALID_VALUE)), 1);
    assert_eq!(code_of(Ok(())), 0);
    assert_eq!(cudaPeekAtLastError(), 1);
    assert_eq!(cudaGetLastError(), 1);
    assert_eq!(cudaGetLastError(), 0);
}
