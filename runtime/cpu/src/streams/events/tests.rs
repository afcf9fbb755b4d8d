//! Tests for `events`.

use super::*;
use std::ptr::null_mut;

#[test]
fn elapsed_time_between_events_is_measured() {
    let (mut start, mut end) = (null_mut(), null_mut());
    create(&mut start, 0).unwrap();
    create(&mut end, 0).unwrap();
    assert_eq!(
        elapsed(start, end),
        Err(CudaError::INVALID_RESOURCE_HANDLE),
        "not recorded"
    );
    record(start, null_mut()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    record(end, null_mut()).unwrap();
    assert!(elapsed(start, end).unwrap() >= 2.0);
    assert!(elapsed(end, start).unwrap() <= -2.0);
    assert_eq!(create(&mut start, 64), Err(CudaError::INVALID_VALUE));
}
