//! Splitting records by allocation.

use super::Regions;
use crate::communication::input::record::{Record, WideAccesses, cut};
use superstep_trace::{AccessGroup, AllocationId, Op};

/// Returns a record for each address, of loads of `width` bytes by one thread.
fn loads(addresses: &[u64], width: u32) -> Vec<Record> {
    let mut records = Vec::new();
    for &address in addresses {
        let mut group = AccessGroup {
            mask: 1,
            width_bytes: width,
            ..AccessGroup::EMPTY
        };
        group.addresses[0] = address;
        cut(&group, Op::Load, &WideAccesses::default(), &mut records);
    }
    records
}

fn split(regions: &Regions, records: &[Record]) -> Vec<(Option<u32>, Vec<u64>)> {
    let parts = regions.split(records).into_iter();
    parts
        .map(|part| {
            let addresses = part.records.iter().map(|record| record.address);
            (part.allocation.map(|id| id.0), addresses.collect())
        })
        .collect()
}

fn two_allocations() -> Regions {
    let mut regions = Regions::default();
    regions.insert(0x1000, 0x1006, AllocationId(1));
    regions.insert(0x1006, 0x1100, AllocationId(2));
    regions
}

#[test]
fn records_are_grouped_by_allocation() {
    let records = loads(&[0x1000, 0x1010, 0x1001, 0x1200, 0x1011], 1);
    let expected = [
        (Some(1), vec![0x1000, 0x1001]),
        (Some(2), vec![0x1010, 0x1011]),
        (None, vec![0x1200]),
    ];
    assert_eq!(split(&two_allocations(), &records), expected);
}

#[test]
fn the_order_is_kept_if_an_access_is_in_two_allocations() {
    let records = loads(&[0x1008, 0x1004, 0x100c], 4);
    let expected = [
        (Some(2), vec![0x1008]),
        (Some(1), vec![0x1004]),
        (Some(2), vec![0x100c]),
    ];
    assert_eq!(split(&two_allocations(), &records), expected);
}

#[test]
fn the_last_byte_of_the_address_space_is_in_no_allocation() {
    let mut regions = Regions::default();
    regions.insert(u64::MAX - 100, u64::MAX, AllocationId(1));
    let records = loads(&[u64::MAX], 1);
    assert_eq!(split(&regions, &records), [(None, vec![u64::MAX])]);
}
