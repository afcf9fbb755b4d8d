//! Tests that read records in the form that the device writes.

use super::layout::UNIT_BYTES;
use super::wire::*;
use proptest::prelude::*;
use superstep_trace::{AccessGroup, SiteId, WARP_LANES};

/// Builds a record of `group` that begins in piece `piece`, following the same steps as the device.
pub(super) fn record(group: &AccessGroup, piece: u32) -> Vec<u8> {
    let mask = group.mask;
    let pairs = mask & mask >> 1;
    let origin = if pairs != 0 { pairs } else { mask }.trailing_zeros();
    let lanes: Vec<u32> = (0..32).filter(|lane| mask >> lane & 1 != 0).collect();
    let address_of = |lane: u32| {
        let index = lanes.iter().position(|&other| other == lane);
        index.map(|index| group.addresses[index])
    };
    let base = address_of(origin).expect("an active lane");
    let next = address_of(origin + 1).filter(|_| pairs != 0);
    let stride = next.map_or(0, |next| (next as u32).wrapping_sub(base as u32) as i32);
    let distances: Vec<i64> = group
        .active_addresses()
        .iter()
        .map(|address| address.wrapping_sub(base) as i64)
        .collect();
    let is_run = lanes.iter().zip(&distances).all(|(&lane, &distance)| {
        distance == i64::from(stride) * (i64::from(lane) - i64::from(origin))
    });
    let site = group.site.0;
    let mut brief = mask == u32::MAX
        && base >> 48 == 0
        && site & 0xfff0_f000 == 0
        && group.width_bytes.is_power_of_two()
        && group.width_bytes <= 128;
    let size = if is_run {
        brief &= i32::from(stride as i16) == stride;
        0
    } else if distances.iter().all(|&d| i64::from(d as i16) == d) {
        2
    } else if distances.iter().all(|&d| i64::from(d as i32) == d) {
        4
    } else {
        8
    };
    let form = match size {
        0 => FORM_RUN,
        2 => FORM_OFFSETS_16,
        4 => FORM_OFFSETS_32,
        _ => FORM_OFFSETS_64,
    };
    let tag = form | if brief { 0 } else { TAG_LONG } | (piece & 0xf) << TAG_PIECE_SHIFT;
    let mut place = tag | group.warp << 8;
    let mut first = base;
    if brief {
        place |= group.width_bytes.trailing_zeros() << 13 | (site & 0xfff) << 16 | site >> 16 << 28;
        first |= u64::from(stride as u16) << 48;
    }
    let mut words = vec![first, u64::from(group.cta) << 32 | u64::from(place)];
    if !brief {
        words.push(u64::from(mask) << 32 | u64::from(site));
        words.push(u64::from(group.width_bytes) << 32 | u64::from(stride as u32));
    }
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    for distance in distances {
        bytes.extend_from_slice(&distance.to_le_bytes()[..size]);
    }
    bytes.resize(bytes.len().next_multiple_of(UNIT_BYTES), 0xee);
    bytes
}

#[derive(Default)]
struct All {
    groups: Vec<AccessGroup>,
    lanes: u64,
}

impl Emit for All {
    const ADDRESSES: bool = true;
    fn lanes(&mut self, lanes: u32) {
        self.lanes += u64::from(lanes);
    }
    fn group(&mut self, group: &AccessGroup) {
        self.groups.push(*group);
    }
}

struct Count(u64);

impl Emit for Count {
    const ADDRESSES: bool = false;
    fn lanes(&mut self, lanes: u32) {
        self.0 += u64::from(lanes);
    }
    fn group(&mut self, _group: &AccessGroup) {}
}

fn addresses() -> impl Strategy<Value = [u64; WARP_LANES]> {
    let near = |bits: u32| {
        (any::<u64>(), any::<[u64; WARP_LANES]>())
            .prop_map(move |(base, offsets)| offsets.map(|o| base.wrapping_add(o >> (64 - bits))))
    };
    let run = (0u64..1 << 48, any::<i32>(), 0u32..32).prop_map(|(base, stride, shift)| {
        std::array::from_fn(|lane| {
            base.wrapping_add((i64::from(stride >> shift) * lane as i64) as u64)
        })
    });
    prop_oneof![run, near(15), near(31), near(64)]
}

fn any_group() -> impl Strategy<Value = AccessGroup> {
    let mask = prop_oneof![
        Just(u32::MAX),
        1u32..,
        (0u32..32).prop_map(|lane| 1 << lane)
    ];
    let site = prop_oneof![0u32..100, any::<u32>(), Just(SiteId::GRID_BARRIER.0)];
    let width = prop_oneof![Just(4u32), Just(16), any::<u32>()];
    (
        site,
        prop_oneof![0u32..3, any::<u32>()],
        0u32..3,
        mask,
        width,
        addresses(),
    )
        .prop_map(|(site, cta, warp, mask, width_bytes, by_lane)| {
            let mut group = AccessGroup {
                site: SiteId(site),
                cta,
                warp,
                sm: 3,
                mask,
                width_bytes,
                ..AccessGroup::EMPTY
            };
            let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0);
            for (index, lane) in lanes.enumerate() {
                group.addresses[index] = by_lane[lane];
            }
            group
        })
}

proptest! {
    #[test]
    fn groups_are_read_whole_and_in_order_for_each_warp(
        groups in prop::collection::vec(any_group(), 0..60),
        piece_units in prop_oneof![Just(32usize), Just(64)],
    ) {
        let piece_bytes = piece_units * UNIT_BYTES;
        let mut all = Vec::new();
        for group in &groups {
            let piece = (all.len() / piece_bytes) as u32;
            all.extend(record(group, piece));
        }
        let (mut reader, mut seen) = (Reader::new(3), All::default());
        let (mut counter, mut count) = (Reader::new(3), Count(0));
        for (number, piece) in all.chunks(piece_bytes).enumerate() {
            prop_assert_eq!(reader.piece(number as u32, piece, &mut seen), 0);
            prop_assert_eq!(counter.piece(number as u32, piece, &mut count), 0);
        }
        prop_assert_eq!(reader.end(), 0);
        // Pieces are sorted by warp, which preserves the order within each warp.
        let key = |group: &AccessGroup| (group.cta, group.warp);
        let (mut expected, mut actual) = (groups.clone(), seen.groups);
        expected.sort_by_key(key);
        actual.sort_by_key(key);
        prop_assert_eq!(&actual, &expected);
        let accesses: usize = groups.iter().map(AccessGroup::accesses).sum();
        prop_assert_eq!((seen.lanes, count.0), (accesses as u64, accesses as u64));
    }

    #[test]
    fn reading_arbitrary_bytes_terminates(
        bytes in prop::collection::vec(any::<u64>(), 0..200), piece: u32,
    ) {
        let bytes: Vec<u8> = bytes.iter().flat_map(|word| word.to_le_bytes()).collect();
        let whole = bytes.len() / UNIT_BYTES * UNIT_BYTES;
        let (mut reader, mut seen) = (Reader::new(0), All::default());
        reader.piece(piece, &bytes[..whole], &mut seen);
        reader.piece(piece.wrapping_add(1), &bytes[..whole], &mut seen);
        reader.end();
    }
}

#[test]
fn a_run_of_a_full_warp_takes_one_unit() {
    let group = AccessGroup {
        site: SiteId(0x3_0021),
        cta: 70_000,
        warp: 31,
        sm: 0,
        mask: u32::MAX,
        width_bytes: 8,
        addresses: std::array::from_fn(|lane| 0x7f12_3456_7000 + 8 * lane as u64),
    };
    assert_eq!(record(&group, 9).len(), 16);
    let mut seen = All::default();
    Reader::new(0).piece(9, &record(&group, 9), &mut seen);
    assert_eq!(seen.groups, [group]);
}

#[test]
fn unwritten_records_are_broken() {
    let group = AccessGroup {
        mask: u32::MAX,
        width_bytes: 4,
        ..AccessGroup::EMPTY
    };
    let mut reader = Reader::new(0);
    // A record from the previous lap, and memory that was never written.
    for bytes in [record(&group, 1), vec![0; 16]] {
        let mut seen = All::default();
        assert_eq!(reader.piece(5, &bytes, &mut seen), 1);
        assert!(seen.groups.is_empty());
    }
    let long = AccessGroup { mask: 1, ..group };
    assert_eq!(
        reader.piece(5, &record(&long, 5)[..16], &mut All::default()),
        0
    );
    assert_eq!(reader.end(), 1, "half a record");
}
