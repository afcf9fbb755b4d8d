//! Tests for `devices`.

use super::*;

#[test]
fn there_is_one_device_by_default() {
    assert_eq!(
        (check(0), check(1)),
        (Ok(()), Err(CudaError::INVALID_DEVICE))
    );
    // SAFETY: takes no pointers.
    let enabled = unsafe { cudaDeviceEnablePeerAccess(0, 0) };
    assert_eq!(
        enabled,
        CudaError::INVALID_DEVICE.0,
        "a device is not its own peer"
    );
    assert_eq!(current(), 0);
}
