//! Tests for `record`.

use super::*;
use proptest::prelude::*;

fn group(width_bytes: u32, mask: u32, addresses: &[u64]) -> AccessGroup {
    let mut group = AccessGroup {
        width_bytes,
        mask,
        cta: 3,
        warp: 2,
        ..AccessGroup::EMPTY
    };
    group.addresses[..addresses.len()].copy_from_slice(addresses);
    group
}

fn cut_all(group: &AccessGroup) -> Vec<Record> {
    let mut records = Vec::new();
    cut(group, Op::Load, &WideAccesses::default(), &mut records);
    records
}

#[test]
fn a_coalesced_group_is_one_record() {
    let addresses: Vec<u64> = (0..32).map(|k| 0x1000 + 4 * k).collect();
    let records = cut_all(&group(4, u32::MAX, &addresses));
    assert_eq!(records.len(), 1);
    assert_eq!(
        (records[0].extent(), records[0].pattern()),
        (128, Pattern::Contiguous)
    );
}

#[test]
fn lanes_in_descending_order_are_one_record() {
    let addresses: Vec<u64> = (0..32).map(|k| 0x1100 - 4 * k).collect();
    let records = cut_all(&group(4, u32::MAX, &addresses));
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].address, 0x1100 - 31 * 4);
    assert!(records[0].threads().eq((64..96).rev()));
    let (low, high) = records[0].split(30);
    assert_eq!((low.mask, high.mask), (u32::MAX << 2, 0b11));
    assert_eq!(high.address, 0x1100 - 4);
}

#[test]
fn a_broadcast_is_one_record() {
    let records = cut_all(&group(8, 0xff, &[0x2000; 8]));
    assert_eq!(records.len(), 1);
    assert_eq!(
        (
            records[0].extent(),
            records[0].lanes(),
            records[0].pattern()
        ),
        (8, 8, Pattern::Same)
    );
}

#[test]
fn a_record_takes_24_bytes() {
    assert_eq!(size_of::<Record>(), 24);
}

proptest! {
    #[test]
    fn records_cover_each_lane_once(
        width in 1u32..9000, mask in 1u32.., base in 4000u64..5000, steps in prop::collection::vec(0u64..3, 32),
        stride in 1u64..5000, follow in any::<bool>(), descends in any::<bool>(),
    ) {
        let stride = if follow { u64::from(width) } else { stride };
        let mut address = base;
        let addresses = steps.iter().map(|s| { address += s * stride; address });
        let mut addresses: Vec<u64> = addresses.take(mask.count_ones() as usize).collect();
        if descends {
            addresses.reverse();
        }
        let group = group(width, mask, &addresses);
        let mut want: Vec<(u32, u64)> = Vec::new();
        for (thread, address) in group.threads() {
            want.extend((0..u64::from(width)).map(|byte| (thread, address + byte)));
        }
        let mut got = Vec::new();
        for record in cut_all(&group) {
            prop_assert_eq!(page_of(record.address), page_of(record.address + record.extent() as u64 - 1));
            for (index, thread) in record.threads().enumerate() {
                let first = record.address
                    + if record.pattern() == Pattern::Contiguous { (index * record.width()) as u64 } else { 0 };
                got.extend((0..record.width() as u64).map(|byte| (thread, first + byte)));
            }
        }
        want.sort_unstable();
        got.sort_unstable();
        prop_assert_eq!(got, want);
    }
}
