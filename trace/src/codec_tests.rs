//! Round trips of the group codec.

use super::*;
use proptest::prelude::*;

fn round_trip(groups: &[AccessGroup]) -> Vec<u8> {
    let (mut encoder, mut bytes) = (Encoder::default(), Vec::new());
    for group in groups {
        encoder.encode(group, &mut bytes);
    }
    let (mut decoder, mut at, mut group) = (Decoder::default(), 0, AccessGroup::EMPTY);
    for (index, expected) in groups.iter().enumerate() {
        decoder
            .decode(&bytes, &mut at, &mut group)
            .unwrap_or_else(|| panic!("group {index} is unreadable"));
        assert_eq!(&group, expected, "group {index}");
    }
    assert_eq!(at, bytes.len());
    bytes
}

fn coalesced(site: u32, cta: u32, warp: u32, base: u64, stride: u64) -> AccessGroup {
    let mut group = AccessGroup {
        site: SiteId(site),
        cta,
        warp,
        mask: u32::MAX,
        width_bytes: 4,
        ..AccessGroup::EMPTY
    };
    for (lane, address) in group.addresses.iter_mut().enumerate() {
        *address = base.wrapping_add(stride.wrapping_mul(lane as u64));
    }
    group
}

#[test]
fn a_loop_over_coalesced_accesses_takes_three_bytes_a_group() {
    let groups: Vec<_> = (0..1000)
        .flat_map(|i| {
            [
                coalesced(1, 5, 0, 4096 + i * 128, 4),
                coalesced(2, 5, 0, 1 << 40, 0),
            ]
        })
        .collect();
    let bytes = round_trip(&groups);
    assert!(bytes.len() < 2000 * 3, "{} bytes", bytes.len());
}

#[test]
fn a_repeated_shape_is_written_once() {
    let mut tile = coalesced(1, 0, 0, 1 << 40, 4);
    for (lane, address) in tile.addresses.iter_mut().enumerate().skip(16) {
        *address = (1 << 40) + 2048 + 4 * (lane as u64 - 16);
    }
    let groups: Vec<_> = (0..100)
        .map(|i| {
            let mut group = tile;
            group
                .addresses
                .iter_mut()
                .for_each(|address| *address += 4096 * i);
            group
        })
        .collect();
    let bytes = round_trip(&groups);
    assert!(bytes.len() < 100 + 99 * 4, "{} bytes", bytes.len());
}

#[test]
fn differences_take_the_smallest_size_that_holds_them() {
    let length = |difference: i64| {
        let mut group = coalesced(1, 0, 0, 1 << 40, 0);
        // One lane elsewhere, so that the addresses are no arithmetic sequence.
        group.addresses[31] = group.addresses[31].wrapping_add_signed(difference);
        round_trip(&[group]).len()
    };
    let one_byte_each = length(1);
    let one_stride = round_trip(&[coalesced(1, 0, 0, 1 << 40, 4)]).len();
    assert_eq!(one_stride, one_byte_each - 30);
    for (difference, bytes) in [
        (0x7f, 1),
        (-0x80, 1),
        (0x80, 2),
        (-0x8000, 2),
        (0x8000, 4),
        (-0x8000_0000, 4),
        (0x8000_0000, 8),
    ] {
        let expected = one_byte_each + 31 * (bytes - 1);
        assert_eq!(length(difference), expected, "{difference:#x}");
    }
}

#[test]
fn chunks_are_coded_independently_of_each_other() {
    let groups = [
        coalesced(1, 5, 3, 4096, 4),
        coalesced(2, 5, 3, 1 << 40, 8),
        coalesced(1, 5, 4, 4096, 4),
    ];
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    for _ in 0..2 {
        let mut bytes = Vec::new();
        encoder.clear();
        groups.iter().for_each(|g| encoder.encode(g, &mut bytes));
        assert_eq!(bytes, round_trip(&groups));
        decoder.clear();
        let (mut at, mut group) = (0, AccessGroup::EMPTY);
        for expected in &groups {
            decoder.decode(&bytes, &mut at, &mut group).unwrap();
            assert_eq!(&group, expected);
        }
    }
}

#[test]
fn a_repeated_shape_of_too_few_lanes_is_refused() {
    let mut group = AccessGroup {
        mask: 0b111,
        ..AccessGroup::EMPTY
    };
    group.addresses[..3].copy_from_slice(&[0, 8, 40]);
    let mut bytes = round_trip(&[group]);
    let second = bytes.len();
    bytes.extend([TAG_SITE | TAG_MASK | FORM_SAME, 0]);
    bytes.extend(0b1111_u32.to_le_bytes());
    bytes.push(0);
    let (mut decoder, mut at) = (Decoder::default(), 0);
    assert!(decoder.decode(&bytes, &mut at, &mut group).is_some());
    assert_eq!(at, second);
    assert!(decoder.decode(&bytes, &mut at, &mut group).is_none());
}

#[test]
fn extremes() {
    round_trip(&[
        coalesced(u32::MAX, u32::MAX, u32::MAX, u64::MAX, u64::MAX),
        coalesced(0, 0, 0, 0, 1 << 63),
        AccessGroup::EMPTY,
        coalesced(0, 1, 2, 1 << 63, 7),
        AccessGroup {
            width_bytes: u32::MAX,
            sm: u32::MAX,
            ..AccessGroup::EMPTY
        },
    ]);
}

fn any_group() -> impl Strategy<Value = AccessGroup> {
    let address = prop_oneof![
        any::<u64>(),
        (0u64..4096).prop_map(|x| 0x7f00_0000_0000 + x),
        0u64..100_000
    ];
    let regular = (
        address.clone(),
        prop_oneof![Just(0u64), Just(4), Just(u64::MAX), any::<u64>()],
    )
        .prop_map(|(base, stride)| {
            std::array::from_fn(|lane| base.wrapping_add(stride.wrapping_mul(lane as u64)))
        });
    let addresses = prop_oneof![proptest::array::uniform32(address), regular];
    let place = (
        prop_oneof![0u32..3, any::<u32>()],
        prop_oneof![0u32..3, any::<u32>()],
        prop_oneof![0u32..2, any::<u32>()],
    );
    let mask = prop_oneof![Just(u32::MAX), Just(0xffff), any::<u32>(), Just(0)];
    (
        prop_oneof![0u32..4, any::<u32>()],
        place,
        mask,
        prop_oneof![Just(4u32), any::<u32>()],
        addresses,
    )
        .prop_map(
            |(site, (cta, warp, sm), mask, width_bytes, addresses)| AccessGroup {
                site: SiteId(site),
                cta,
                warp,
                sm,
                mask,
                width_bytes,
                addresses,
            },
        )
}

proptest! {
    #[test]
    fn any_groups_round_trip(groups in proptest::collection::vec(any_group(), 0..60)) {
        round_trip(&groups);
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let (mut decoder, mut at, mut group) = (Decoder::default(), 0, AccessGroup::EMPTY);
        while at < bytes.len() && decoder.decode(&bytes, &mut at, &mut group).is_some() {}
        prop_assert!(at <= bytes.len());
    }
}
