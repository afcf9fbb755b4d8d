//! Tests for `memset`.

use super::*;
use std::ptr::null_mut;
use superstep_trace::AllocationKind;

#[test]
fn memset_fills_only_device_memory() {
    let address = crate::memory::allocate(64, AllocationKind::Device).unwrap() as *mut c_void;
    assert_eq!(fill_rows(address, 16, 0x1ff, 3, 4, null_mut()), Ok(()));
    // SAFETY: the allocation is 64 bytes long.
    let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), 64) };
    assert_eq!(bytes[..5], [255, 255, 255, 0, 0]);
    assert_eq!(bytes[48..52], [255, 255, 255, 0]);
    assert_eq!(
        fill_rows(address, 65, 0, 65, 1, null_mut()),
        Err(CudaError::INVALID_VALUE)
    );
    let words = cudaMemsetParams {
        dst: address,
        pitch: 16,
        value: 0x01020304,
        elementSize: 4,
        width: 2,
        height: 2,
    };
    assert_eq!(fill_elements(&words, null_mut()), Ok(()));
    assert_eq!(bytes[16..25], [4, 3, 2, 1, 4, 3, 2, 1, 0]);
    let mut host = [0u8; 4];
    assert_eq!(
        fill_rows(host.as_mut_ptr().cast(), 4, 0, 4, 1, null_mut()),
        Err(CudaError::INVALID_VALUE)
    );
}
