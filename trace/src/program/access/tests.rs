//! Tests for `access`.

use super::*;

#[test]
fn threads_follow_the_mask() {
    let mut group = AccessGroup {
        warp: 2,
        mask: 0x8000_0005,
        ..AccessGroup::EMPTY
    };
    group.addresses[..3].copy_from_slice(&[10, 20, 30]);
    assert_eq!(
        group.threads().collect::<Vec<_>>(),
        [(64, 10), (66, 20), (95, 30)]
    );
}

#[test]
fn unused_addresses_are_ignored() {
    let mut group = AccessGroup {
        mask: 1,
        ..AccessGroup::EMPTY
    };
    group.addresses[1] = 7;
    assert_eq!(
        group,
        AccessGroup {
            mask: 1,
            ..AccessGroup::EMPTY
        }
    );
}
