//! Tests for `copies`.

use super::*;
use superstep_trace::AllocationKind;

#[test]
fn copies_stay_inside_allocations() {
    let device = memory::allocate(100, AllocationKind::Device).unwrap();
    let host = [7u8; 200];
    let from = host.as_ptr() as u64;
    let stream = StreamId(0);
    let copy = |to, from, bytes, kind| copy_rows("test", Rows::one(to, from, bytes), kind, stream);
    let invalid = Err(CudaError::INVALID_VALUE);
    assert_eq!(copy(device, from, 100, 1), Ok(()));
    assert_eq!(copy(device, from, 101, 1), invalid);
    assert_eq!(copy(device + 99, from, 1, 4), Ok(()));
    assert_eq!(copy(from, from, 4, 1), invalid, "not device memory");
    let no_direction = Err(CudaError::INVALID_MEMCPY_DIRECTION);
    assert_eq!(copy(device, from, 4, 9), no_direction);
    assert_eq!(copy(0, from, 4, 1), invalid);
    let mut back = [0u8; 100];
    assert_eq!(copy(back.as_mut_ptr() as u64, device, 100, 2), Ok(()));
    assert_eq!(back, [7; 100]);
}

#[test]
fn rows_can_have_gaps_between_them() {
    let device = memory::allocate(64, AllocationKind::Device).unwrap();
    let host: Vec<u8> = (0..16).collect();
    let rows = Rows {
        to: device,
        from: host.as_ptr() as u64,
        bytes: 4,
        rows: 4,
        to_pitch: 16,
        from_pitch: 4,
    };
    assert_eq!(copy_rows("test", rows, 1, StreamId(0)), Ok(()));
    // SAFETY: the allocation is 64 bytes long.
    let copied = unsafe { std::slice::from_raw_parts(device as *const u8, 64) };
    assert_eq!(copied[16..21], [4, 5, 6, 7, 0]);
    let with_pitch = |to_pitch| {
        let rows = Rows { to_pitch, ..rows };
        copy_rows("test", rows, 1, StreamId(0))
    };
    assert_eq!(with_pitch(32), Err(CudaError::INVALID_VALUE));
    assert_eq!(with_pitch(2), Err(CudaError::INVALID_PITCH));
}
