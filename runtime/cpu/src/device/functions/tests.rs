//! Tests for `functions`.

use super::*;

#[test]
fn occupancy_has_four_limits() {
    let ctas = |static_bytes, threads| resident_ctas(1024, static_bytes, threads, 0);
    assert_eq!(ctas(0, 256), Ok(8));
    assert_eq!(ctas(0, 32), Ok(32));
    assert_eq!(ctas(47 << 10, 64), Ok(4));
    assert_eq!(ctas(0, 2048), Ok(0));
    assert_eq!(ctas(0, 0), Err(CudaError::INVALID_VALUE));
    assert_eq!(resident_ctas(128, 0, 129, 0), Ok(0));
}
