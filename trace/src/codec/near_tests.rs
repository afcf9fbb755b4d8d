//! Checks that groups with offsets are encoded exactly like groups with addresses.

use super::tests::{any_program, payload, round_trip};
use super::*;
use crate::{AccessGroup, SiteId, WARP_LANES};
use proptest::prelude::*;

/// Adds a group, as distances from one of its lanes if they fit. `method` chooses how.
fn add(encoder: &mut Encoder, group: &AccessGroup, method: u8) {
    let addresses = group.active_addresses();
    let base = addresses[method as usize / 4 % addresses.len()];
    let distance = |address: &u64| address.wrapping_sub(base) as i64;
    let short: Option<Vec<_>> = (addresses.iter())
        .map(|address| Some(i16::try_from(distance(address)).ok()?.to_le_bytes()))
        .collect();
    let long: Option<Vec<_>> = (addresses.iter())
        .map(|address| Some(i32::try_from(distance(address)).ok()?.to_le_bytes()))
        .collect();
    let without_addresses = AccessGroup {
        addresses: [0x0bad_0bad; WARP_LANES],
        ..*group
    };
    match (method % 4, short, long) {
        (0, ..) | (_, _, None) => encoder.encode(group),
        (1, _, Some(long)) | (_, None, Some(long)) => {
            encoder.encode_near(&without_addresses, base, Offsets(&long));
        }
        (_, Some(short), _) => encoder.encode_near(&without_addresses, base, Offsets(&short)),
    }
}

/// Checks the encoding of groups that are added in different ways, with and without vectors.
fn check(groups: &[AccessGroup], methods: &[u8]) -> Result<(), TestCaseError> {
    let expected = round_trip(groups);
    for avx2 in [Encoder::new().avx2, None] {
        let mut encoder = Encoder::new();
        encoder.avx2 = avx2;
        for (group, &method) in groups.iter().zip(methods.iter().cycle()) {
            add(&mut encoder, group, method);
        }
        prop_assert_eq!(&payload(&mut encoder), &expected);
    }
    Ok(())
}

/// Generates groups at three sites: most lanes move, some stray, and all or some are active. If `calm` is set, lanes
/// only move in lockstep.
fn steps() -> impl Strategy<Value = Vec<AccessGroup>> {
    let masks = prop_oneof![6 => Just(0u8), 1 => Just(1), 1 => Just(2), 1 => Just(3)];
    let kind = prop_oneof![4 => Just(0u8), 4 => Just(1), 2 => Just(2), 1 => Just(3), 1 => Just(4), 1 => Just(5)];
    let distance =
        prop_oneof![4 => -40i64..40, 1 => -(1i64 << 20)..1 << 20, 1 => -(1i64 << 33)..1 << 33];
    let step = (0u32..3, masks, kind, 0u8..20, distance, any::<u64>());
    let unit = prop_oneof![Just(1u64), Just(4), Just(8), Just(12)];
    (
        prop::collection::vec(step, 1..60),
        unit,
        [any::<u32>(), any::<u32>(), any::<u32>()],
        any::<bool>(),
    )
        .prop_map(|(steps, unit, masks, calm)| {
            let mut lanes = [[1u64 << 40; WARP_LANES]; 3];
            let mut place = 0;
            let group =
                |(site, mask, kind, strays, distance, mut random): (u32, u8, u8, u8, i64, u64)| {
                    let mut next = || {
                        random = random
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1);
                        random >> 33
                    };
                    let delta = (distance as u64).wrapping_mul(unit);
                    let (site, kind, strays) = match calm {
                        true => (site % 2, kind.min(1) * 5, 0),
                        false => (site, kind, strays),
                    };
                    let all = &mut lanes[site as usize];
                    match kind {
                        0 => all.iter_mut().for_each(|at| *at = at.wrapping_add(unit)),
                        1 => all.iter_mut().for_each(|at| *at = at.wrapping_add(delta)),
                        2 => all.iter_mut().for_each(|at| {
                            *at = (1 << 40) + delta % (1 << 20) + next() % 512 * unit
                        }),
                        3 => all
                            .iter_mut()
                            .for_each(|at| *at = (1 << 40) + next() % (1 << 28) * unit),
                        4 => (all.iter_mut().enumerate())
                            .for_each(|(lane, at)| *at = (1 << 40) + lane as u64 * delta),
                        _ => place += 1,
                    }
                    if kind < 2 {
                        for _ in 0..strays {
                            let odd = u64::from(next() % 16 == 0);
                            let at = &mut all[next() as usize % WARP_LANES];
                            *at = at.wrapping_add((next() % 100) * unit + odd);
                        }
                    }
                    let mask = match mask {
                        0 => u32::MAX,
                        number => masks[number as usize - 1] | 1 << number,
                    };
                    let mut group = AccessGroup {
                        site: SiteId(site),
                        cta: place,
                        mask,
                        width_bytes: 1 << (site % 3 + 1),
                        ..AccessGroup::EMPTY
                    };
                    let active = (0..WARP_LANES).filter(|lane| mask >> lane & 1 != 0);
                    for (out, lane) in group.addresses.iter_mut().zip(active) {
                        *out = all[lane];
                    }
                    group
                };
            steps.into_iter().map(group).collect()
        })
}

proptest! {
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri; the other tests cover the same paths")]
    fn offsets_are_encoded_like_addresses(
        steps in steps(), program in any_program(), methods in prop::collection::vec(any::<u8>(), 1..40),
    ) {
        check(&steps, &methods)?;
        check(&program, &methods)?;
        // Use short offsets, or long ones if necessary.
        check(&steps, &[2])?;
        check(&program, &[2])?;
    }
}
