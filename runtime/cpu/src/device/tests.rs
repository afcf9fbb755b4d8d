//! Tests for `device`.

use super::*;

#[test]
fn a_device_has_a_bus_id() {
    let mut name = [0 as c_char; 20];
    // SAFETY: the array is at least as large as each length passed.
    unsafe {
        assert_eq!(cudaDeviceGetPCIBusId(name.as_mut_ptr(), 20, 0), 0);
        assert_eq!(cudaDeviceGetPCIBusId(name.as_mut_ptr(), 3, 0), 1);
    }
}

#[test]
fn limits_are_stored() {
    assert_eq!(limit(1), Ok(1 << 20));
    assert_eq!(set_limit(1, 12345), Ok(()));
    assert_eq!(limit(1), Ok(12345));
    assert_eq!(limit(LIMIT_STACK), Ok(1024));
    assert_eq!(set_limit(LIMIT_STACK, 3000), Ok(()));
    assert_eq!(limit(LIMIT_STACK), Ok(3008));
    assert_eq!(limit(7), Err(CudaError::INVALID_VALUE));
    assert_eq!(set_limit(-1, 0), Err(CudaError::INVALID_VALUE));
}
