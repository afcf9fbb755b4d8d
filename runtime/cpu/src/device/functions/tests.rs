//! Tests of `functions`.

use super::*;

#[test]
fn occupancy_has_four_limits() {
    let of = |static_bytes, threads| occupancy_of(1024, static_bytes, threads, 0);
    assert_eq!(of(0, 256), Ok(8));
    assert_eq!(of(0, 32), Ok(32));
    assert_eq!(of(47 << 10, 64), Ok(4));
    assert_eq!(of(0, 2048), Ok(0));
    assert_eq!(of(0, 0), Err(CudaError::INVALID_VALUE));
    assert_eq!(occupancy_of(128, 0, 129, 0), Ok(0));
}
