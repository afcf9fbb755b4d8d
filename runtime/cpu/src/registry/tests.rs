//! Tests for `registry`.

use super::*;

#[test]
fn unknown_functions_and_symbols_are_errors() {
    assert_eq!(
        kernel(0x10 as *const c_void).err(),
        Some(CudaError::INVALID_DEVICE_FUNCTION)
    );
    assert_eq!(
        symbol(0x10 as *const c_void).err(),
        Some(CudaError::INVALID_SYMBOL)
    );
}
