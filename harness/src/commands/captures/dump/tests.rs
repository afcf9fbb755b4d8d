//! Tests for `dump`.

use super::*;

#[test]
fn launch_ranges_are_parsed() {
    assert_eq!(parse_range("3").unwrap(), 3..=3);
    assert_eq!(parse_range("1..4").unwrap(), 1..=4);
    assert!(parse_range("4..1").is_err());
    assert!(parse_range("x").is_err());
}

#[test]
fn evenly_spaced_addresses_are_printed_as_a_range() {
    let mut group = AccessGroup {
        mask: 0b111,
        ..AccessGroup::EMPTY
    };
    group.addresses[..3].copy_from_slice(&[16, 20, 24]);
    let map = AllocationMap::default();
    assert_eq!(addresses(&group, &map), "0x10 step 4 x3");
    group.addresses[2] = 28;
    assert_eq!(addresses(&group, &map), "0x10 0x14 0x1c");
    group.mask = 0b11;
    assert_eq!(addresses(&group, &map), "0x10 step 4 x2");
    group.mask = 1;
    assert_eq!(addresses(&group, &map), "0x10");
}
