//! Tests of `devices`.

use super::*;

#[test]
fn there_is_one_device_by_default() {
    assert_eq!(
        (check(0), check(1)),
        (Ok(()), Err(CudaError::INVALID_DEVICE))
    );
    assert_eq!(enable(0), Err(CudaError::INVALID_DEVICE), "itself");
    assert_eq!((current(), of(0x1000)), (0, 0));
}
