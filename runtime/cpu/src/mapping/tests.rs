//! Tests for `mapping`.

use super::*;

#[test]
fn memory_is_zero_and_writable() {
    let mapping = Mapping::new(10_000).unwrap();
    assert_eq!(mapping.bytes(), 3 * PAGE_BYTES);
    // SAFETY: the mapping is readable, writable and large enough.
    unsafe {
        assert_eq!(*mapping.base().add(9_999), 0);
        mapping.base().write(7);
        assert_eq!(mapping.base().read(), 7);
    }
}

#[test]
fn part_of_a_reservation_can_be_opened() {
    let mapping = Mapping::reserve(4 * PAGE_BYTES).unwrap();
    mapping.open(PAGE_BYTES, 2 * PAGE_BYTES).unwrap();
    assert!(mapping.open(3 * PAGE_BYTES, 2 * PAGE_BYTES).is_err());
    // SAFETY: the page was just opened.
    unsafe { mapping.base().add(PAGE_BYTES).write(1) };
    mapping.close().unwrap();
}

#[test]
fn absurd_sizes_are_rejected() {
    assert!(Mapping::new(usize::MAX).is_err());
    assert!(Mapping::new(1 << 60).is_err());
}
