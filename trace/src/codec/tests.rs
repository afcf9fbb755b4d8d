//! Round trips through the group codec.

use super::*;
use crate::{AccessGroup, SiteId, WARP_LANES};
use proptest::prelude::*;

pub(super) fn payload(encoder: &mut Encoder) -> Vec<u8> {
    let mut bytes = Vec::new();
    encoder.head(&mut bytes);
    encoder.tail(&mut bytes);
    bytes
}

fn read(decoder: &mut Decoder, bytes: &[u8]) -> Option<Vec<AccessGroup>> {
    decoder.begin(bytes)?;
    let (mut groups, mut group) = (Vec::new(), AccessGroup::EMPTY);
    while decoder.has_more() && groups.len() < 100_000 {
        decoder.decode(bytes, &mut group)?;
        groups.push(group);
    }
    decoder.is_at_end(bytes).then_some(groups)
}

fn encoded<'a>(groups: impl IntoIterator<Item = &'a AccessGroup>) -> Vec<u8> {
    let mut encoder = Encoder::new();
    groups.into_iter().for_each(|group| encoder.encode(group));
    payload(&mut encoder)
}

pub(super) fn round_trip(groups: &[AccessGroup]) -> Vec<u8> {
    let bytes = encoded(groups);
    let back = read(&mut Decoder::default(), &bytes).expect("the groups are readable");
    for (index, (group, expected)) in back.iter().zip(groups).enumerate() {
        assert_eq!(group, expected, "group {index}");
    }
    assert_eq!(back.len(), groups.len());
    bytes
}

/// Returns the number of bytes that `next` takes up after `groups`.
fn bytes_after(groups: &[AccessGroup], next: &[AccessGroup]) -> usize {
    round_trip(&[groups, next].concat()).len() - round_trip(groups).len()
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

/// Returns a group with lanes at these addresses.
fn scattered(site: u32, mask: u32, address: impl Fn(u64) -> u64) -> AccessGroup {
    let mut group = AccessGroup {
        mask,
        ..coalesced(site, 0, 0, 0, 0)
    };
    for (out, lane) in group
        .addresses
        .iter_mut()
        .zip((0..32).filter(|lane| mask >> lane & 1 != 0))
    {
        *out = address(lane);
    }
    group
}

fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 27
}

#[test]
#[cfg_attr(
    miri,
    ignore = "takes minutes under Miri; the other tests cover the same paths"
)]
fn coalesced_loop_takes_constant_space() {
    let rounds = |count: u64| {
        let round = |i| {
            [
                coalesced(1, 5, 0, 4096 + i * 128, 4),
                coalesced(2, 5, 0, 1 << 40, 0),
            ]
        };
        round_trip(&(0..count).flat_map(round).collect::<Vec<_>>()).len()
    };
    assert!(
        rounds(1000) <= rounds(100) + 1,
        "{} and {}",
        rounds(100),
        rounds(1000)
    );
}

#[test]
#[cfg_attr(
    miri,
    ignore = "takes minutes under Miri; the other tests cover the same paths"
)]
fn next_warp_of_a_loop_is_predicted() {
    let warps = |count: u32| {
        let group = |(warp, step): (u32, u64)| {
            coalesced(
                1,
                warp / 8,
                warp % 8,
                u64::from(warp) * 128 + step * 65536,
                4,
            )
        };
        let all = (0..count).flat_map(|warp| (0..16).map(move |step| (warp, step)));
        round_trip(&all.map(group).collect::<Vec<_>>()).len()
    };
    let each = (warps(808) - warps(8)) as f64 / 800.0;
    assert!(each < 6.0, "{each} bytes per warp of 16 groups");
}

#[test]
fn repeated_shape_is_written_once() {
    let tile = |i: u64| {
        scattered(1, u32::MAX, |lane| {
            (1 << 40) + 4096 * i + lane / 16 * 2048 + lane % 16 * 4
        })
    };
    let groups: Vec<_> = (0..100).map(tile).collect();
    assert!(bytes_after(&groups[..3], &groups[3..]) <= 2, "only a count");
}

#[test]
fn lanes_that_leave_a_loop_take_a_bit_each() {
    let masks = [u32::MAX, 0x0fff_ff0f, 0x0f0f_ff0f, 0x0003_000f, 0x8];
    let loops = |count: usize| {
        let step = |i: usize| {
            let mask = if i < 3 { u32::MAX } else { masks[i - 3] };
            scattered(1, mask, |lane| {
                (1 << 40) + mix(lane) % 1024 * 4 + 4 * i as u64
            })
        };
        (0..count).map(step).collect::<Vec<_>>()
    };
    let all = loops(8);
    // Masks with 32, 24, 20 and 6 bits, and four tags.
    assert!(bytes_after(&all[..4], &all[4..]) <= 11 + 4);
}

#[test]
fn lanes_in_different_iterations_take_few_bytes() {
    let step = |i: u64| {
        scattered(1, u32::MAX, |lane| {
            let rounds = 40 + lane;
            (1 << 40) + (i / rounds * 81 + i % rounds + lane) * 4
        })
    };
    let groups: Vec<_> = (0..300).map(step).collect();
    let each = bytes_after(&groups[..100], &groups[100..]) as f64 / 200.0;
    assert!(each < 5.0, "{each} bytes per group");
}

#[test]
fn any_lanes_of_a_row_form_a_run() {
    let masks = [0x0000_ff01, 0x8000_0001, 0x1234_5678, u32::MAX];
    let groups = masks.map(|mask| scattered(1, mask, |lane| 4096 + lane * 8));
    for group in groups {
        assert!(bytes_after(&groups[..1], &[group]) <= 1 + 5 + 1);
    }
}

#[test]
fn elements_with_the_same_index_are_linked() {
    let round = |i: u64| {
        let index = move |lane| mix(i * 32 + lane) % (1 << 20);
        let group = |site, width_bytes, base: u64| AccessGroup {
            width_bytes,
            ..scattered(site, 0xffff_fff0, |lane| {
                base + index(lane) * u64::from(width_bytes)
            })
        };
        [
            group(1, 1, 1 << 40),
            group(2, 4, 1 << 41),
            group(3, 16, 1 << 42),
            group(4, 2, 1 << 43),
        ]
    };
    let groups: Vec<_> = (0..20).flat_map(round).collect();
    // 28 indices of 20 bits each, shared by four groups.
    let each = bytes_after(&groups[..40], &groups[40..]) as f64 / 10.0;
    assert!(each <= 28.0 * 20.0 / 8.0 + 4.0, "{each} bytes per round");
}

#[test]
fn scattered_lanes_take_the_bits_of_their_range() {
    for bits in [8, 12, 20, 26] {
        let group = |i: u64| {
            scattered(1, u32::MAX, |lane| {
                (1 << 40) + mix(i << 8 | lane) % (1 << bits) * 4
            })
        };
        let groups: Vec<_> = (0..200).map(group).collect();
        let each = bytes_after(&groups[..100], &groups[100..]) as f64 / 100.0;
        assert!(
            (each - (4 * bits) as f64) < 1.5,
            "{each} bytes for {bits} bits per lane"
        );
    }
}

#[test]
#[cfg_attr(
    miri,
    ignore = "takes minutes under Miri; the other tests cover the same paths"
)]
fn wrapping_multiples_take_few_bits() {
    let group = |i: u64| {
        let hash = |lane: u64| (i * 32 + lane).wrapping_mul(2_654_435_761) as u32 >> 8;
        scattered(1, u32::MAX, |lane| (1 << 40) + 4 * u64::from(hash(lane)))
    };
    let groups: Vec<_> = (0..200).map(group).collect();
    let each = bytes_after(&groups[..100], &groups[100..]) as f64 / 100.0;
    assert!(each < 14.0, "{each} bytes per group");
}

#[test]
fn chunks_are_encoded_independently_of_each_other() {
    let groups = [
        coalesced(1, 5, 3, 4096, 4),
        coalesced(2, 5, 3, 1 << 40, 8),
        scattered(1, 0xffff, |lane| 4096 + mix(lane)),
        scattered(2, 0xffff, mix),
    ];
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::default());
    for _ in 0..2 {
        encoder.clear();
        groups.iter().for_each(|group| encoder.encode(group));
        let bytes = payload(&mut encoder);
        assert_eq!(bytes, round_trip(&groups));
        assert_eq!(read(&mut decoder, &bytes).unwrap(), groups);
    }
}

#[test]
fn run_is_encoded_like_its_addresses() {
    let groups: Vec<_> = (0..50)
        .map(|i| {
            coalesced(
                i % 3,
                i / 16,
                0,
                mix(u64::from(i / 7)),
                u64::from(i % 2) * 4,
            )
        })
        .collect();
    let mut encoder = Encoder::new();
    for group in &groups {
        let without_addresses = AccessGroup {
            addresses: [0; WARP_LANES],
            ..*group
        };
        let [base, next, ..] = group.addresses;
        encoder.encode_run(&without_addresses, base, next.wrapping_sub(base));
    }
    assert_eq!(payload(&mut encoder), round_trip(&groups));
}

#[test]
fn invalid_repetitions_are_refused() {
    let valid = round_trip(&[coalesced(1, 0, 0, 64, 4)]);
    let first_tag = valid[COLUMNS_HEADER_BYTES];
    let with_tags = |tags: &[u8]| {
        let mut bytes = valid.clone();
        bytes[0] += tags.len() as u8;
        let at = COLUMNS_HEADER_BYTES + 1;
        bytes.splice(at..at, tags.iter().copied());
        read(&mut Decoder::default(), &bytes).map(|groups| groups.len())
    };
    assert!(!is_bare(first_tag) && is_bare(0));
    assert_eq!(with_tags(&[]), Some(1));
    assert_eq!(with_tags(&[0]), Some(2));
    assert_eq!(with_tags(&[0, TAG_REPEAT, 3]), Some(5));
    assert_eq!(with_tags(&[0, TAG_REPEAT, 0]), None);
    assert_eq!(with_tags(&[TAG_REPEAT, 3]), None);
    assert_eq!(with_tags(&[7 << 5]), None);
}

#[test]
fn extreme_values_round_trip() {
    round_trip(&[
        coalesced(u32::MAX, u32::MAX, u32::MAX, u64::MAX, u64::MAX),
        coalesced(0, 0, 0, 0, 1 << 63),
        coalesced(0, 1, 2, 1 << 63, 7),
        AccessGroup {
            width_bytes: u32::MAX,
            sm: u32::MAX,
            mask: 1,
            ..AccessGroup::EMPTY
        },
        scattered(
            7,
            0x8000_0003,
            |lane| if lane == 31 { u64::MAX } else { lane },
        ),
        scattered(
            7,
            0x8000_0003,
            |lane| if lane == 31 { 0 } else { u64::MAX - lane },
        ),
        scattered(8, u32::MAX, |lane| mix(lane) << 12),
        scattered(8, u32::MAX, |lane| 1 << lane),
        scattered(8, u32::MAX, |lane| u64::MAX - (1 << lane)),
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
    let mask = prop_oneof![Just(u32::MAX), Just(0xffff), 1u32..];
    (
        prop_oneof![0u32..4, any::<u32>()],
        place,
        mask,
        prop_oneof![Just(4u32), Just(1), Just(8), any::<u32>()],
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

/// Returns the address of `lane` in an iteration at site `number`, which is of one of six kinds. If this were inlined
/// into [`any_program`], LLVM 22 would take more than ten minutes to compile the loops.
#[inline(never)]
fn address_of(
    (kind, bits, lg_width): (u64, u64, u32),
    (base, number, round): (u64, u64, u64),
    lane: u64,
) -> u64 {
    let mixed = |value, bits: u64| (mix(value) % (1 << bits)) << lg_width;
    match kind {
        0 => base + lane * 4,
        1 => base,
        2 => base + mixed(lane, bits),
        3 => base + mixed(round << 8 | lane, bits),
        // Lanes in different iterations.
        4 => base + ((lane % 3 + round % (2 + lane % 7) * (1 + bits)) << lg_width),
        // The same indices at every site of this kind.
        _ => ((1 + number) << 42) + mixed(round << 8 | lane, 20),
    }
}

pub(super) fn any_program() -> impl Strategy<Value = Vec<AccessGroup>> {
    let site = (
        any::<bool>(),
        0u32..4,
        0u64..6,
        0u64..40,
        prop_oneof![Just(0u64), Just(4), Just(128)],
    );
    let program = (
        proptest::collection::vec(site, 1..5),
        1u64..12,
        1u32..5,
        any::<[u32; 6]>(),
    );
    program.prop_map(|(sites, rounds, warps, masks)| {
        let mut groups = Vec::new();
        for warp in 0..warps {
            for round in 0..rounds {
                let mask = masks[round as usize % 6] | 1 << (round % 32);
                for (number, &(full, lg_width, kind, bits, step)) in sites.iter().enumerate() {
                    let base = (1 << 40)
                        + (number as u64) * (1 << 32)
                        + step * round
                        + 4096 * u64::from(warp);
                    let site_kind = (kind, bits, lg_width);
                    let at = (base, number as u64, round);
                    let address = |lane| address_of(site_kind, at, lane);
                    groups.push(AccessGroup {
                        cta: warp / 2,
                        warp: warp % 2,
                        width_bytes: 1 << lg_width,
                        ..scattered(number as u32, if full { u32::MAX } else { mask }, address)
                    });
                }
            }
        }
        groups
    })
}

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri; the other tests cover the same paths")]
    fn any_groups_round_trip(
        groups in proptest::collection::vec(any_group(), 0..60),
        program in any_program(),
    ) {
        for groups in [groups, program] {
            round_trip(&groups);
        }
    }

    #[test]
    fn any_bytes_are_handled(
        lengths in any::<[u8; 3]>(), bytes in proptest::collection::vec(any::<u8>(), 0..1000),
    ) {
        let mut payload: Vec<u8> = lengths.iter().flat_map(|&length| u32::from(length).to_le_bytes()).collect();
        payload.extend(&bytes);
        read(&mut Decoder::default(), &payload);
        read(&mut Decoder::default(), &bytes);
    }

    #[test]
    fn changed_bytes_are_handled(program in any_program(), changes in any::<[(u16, u8); 3]>()) {
        let mut bytes = encoded(&program);
        for (at, change) in changes {
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= change;
        }
        read(&mut Decoder::default(), &bytes);
        bytes.truncate(usize::from(changes[0].0) % bytes.len());
        read(&mut Decoder::default(), &bytes);
    }
}
