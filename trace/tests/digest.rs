//! Checks that the digest depends only on the accesses.

mod common;

use common::{any_group, write};
use proptest::collection::vec;
use proptest::prelude::*;
use superstep_trace::*;

const BASE: u64 = 0x7f00_0000_0000;

/// Returns the digest of a launch with these groups.
fn digest_of(groups: &[AccessGroup], base: u64) -> LaunchDigest {
    digest_of_chunks(&[groups.to_vec()], base)
}

fn digest_of_chunks(chunks: &[Vec<AccessGroup>], base: u64) -> LaunchDigest {
    let folder = tempfile::tempdir().unwrap();
    let capture = write(folder.path(), base, &[chunks.to_vec()]);
    superstep_testing::digests(&capture).unwrap()[0].1
}

/// Splits a group into one group per lane.
fn split(group: &AccessGroup) -> Vec<AccessGroup> {
    let lanes = (0..32).filter(|lane| group.mask >> lane & 1 == 1);
    let single = |(lane, &address): (u32, &u64)| {
        let mut single = AccessGroup {
            mask: 1 << lane,
            ..*group
        };
        single.addresses[0] = address;
        single
    };
    lanes.zip(group.active_addresses()).map(single).collect()
}

fn base_group() -> AccessGroup {
    let mut group = AccessGroup {
        site: SiteId::new(1, 0),
        cta: 3,
        warp: 1,
        sm: 0,
        mask: 1,
        width_bytes: 4,
        ..AccessGroup::EMPTY
    };
    group.addresses[0] = BASE + 64;
    group
}

#[test]
fn grid_barrier_marks_are_kept_but_are_not_accesses() {
    let (first, second) = (
        base_group(),
        AccessGroup {
            cta: 4,
            ..base_group()
        },
    );
    let mark = AccessGroup {
        site: SiteId::GRID_BARRIER,
        mask: u32::MAX,
        ..AccessGroup::EMPTY
    };
    let chunks = [vec![first, mark, second], vec![mark]];
    assert_eq!(
        digest_of_chunks(&chunks, BASE),
        digest_of(&[first, second], BASE)
    );
    let folder = tempfile::tempdir().unwrap();
    let capture = write(folder.path(), BASE, &[chunks.to_vec()]);
    assert_eq!(capture.verify().unwrap(), Vec::<String>::new());
    let (mut accesses, mut all) = (Vec::new(), Vec::new());
    let mut buffer = GroupBuffer::default();
    for chunk in capture.launches().next().unwrap().chunks {
        let keep = |group: &AccessGroup| accesses.push(*group);
        capture.read_chunk(chunk, &mut buffer, keep).unwrap();
        let keep = |group: &AccessGroup| all.push(*group);
        capture.read_marked_chunk(chunk, &mut buffer, keep).unwrap();
    }
    assert_eq!(accesses, [first, second]);
    assert_eq!(all, chunks.concat());
}

#[test]
fn digest_depends_on_each_part_of_an_access() {
    let original = base_group();
    let mut others = vec![
        AccessGroup {
            site: SiteId::new(1, 14),
            ..original
        },
        AccessGroup { cta: 4, ..original },
        AccessGroup {
            warp: 2,
            ..original
        },
        AccessGroup {
            mask: 2,
            ..original
        },
        AccessGroup {
            width_bytes: 8,
            ..original
        },
    ];
    for address in [
        BASE + 65,
        BASE + (1 << 20) + 64,
        BASE + (2 << 20) + 64,
        BASE + (9 << 20),
    ] {
        let mut other = original;
        other.addresses[0] = address;
        others.push(other);
    }
    let mut digests: Vec<_> = others
        .iter()
        .map(|group| digest_of(&[*group], BASE))
        .collect();
    digests.push(digest_of(&[original], BASE));
    digests.push(digest_of(&[original, original], BASE));
    digests.push(digest_of(&[], BASE));
    for (index, digest) in digests.iter().enumerate() {
        assert!(!digests[..index].contains(digest), "{index}");
        assert!(
            digests[..index]
                .iter()
                .all(|other| (0..2).all(|word| other.words[word] != digest.words[word])),
            "{index}"
        );
    }
    assert_eq!(
        digest_of(&[AccessGroup { sm: 5, ..original }], BASE),
        digest_of(&[original], BASE),
        "the SM does not matter"
    );
}

#[test]
fn digest_is_stable() {
    assert_eq!(
        digest_of(&[base_group()], BASE).to_string(),
        "ab4055063fef4e03a55b4e534488b7a6"
    );
}

#[test]
fn swapping_threads_or_addresses_changes_the_digest() {
    let mut group = AccessGroup {
        mask: 3,
        ..base_group()
    };
    group.addresses[1] = BASE + 68;
    let mut swapped = group;
    swapped.addresses[..2].reverse();
    assert_ne!(digest_of(&[group], BASE), digest_of(&[swapped], BASE));
}

#[test]
fn launches_of_a_capture_have_their_own_digests() {
    let folder = tempfile::tempdir().unwrap();
    let group = base_group();
    let capture = write(
        folder.path(),
        BASE,
        &[vec![vec![group]], vec![vec![group]], vec![]],
    );
    let digests = superstep_testing::digests(&capture).unwrap();
    assert_eq!(digests[0].1, digest_of(&[group], BASE));
    assert_ne!(digests[0].1, digests[1].1, "the launch matters");
    assert_eq!(digests[2].1, LaunchDigest::default());
}

proptest! {
    #[test]
    fn order_grouping_and_addresses_do_not_matter(
        groups in proptest::collection::vec(any_group(BASE), 0..40),
        seed: u64,
    ) {
        let whole = digest_of(&groups, BASE);
        let mut single: Vec<_> = groups.iter().flat_map(split).collect();
        let length = single.len().max(1) as u64;
        for at in 0..single.len() {
            single.swap(at, (seed.wrapping_mul(2 * at as u64 + 1) % length) as usize);
        }
        prop_assert_eq!(digest_of(&single, BASE), whole);

        let moved: Vec<_> = groups.iter().map(|group| {
            let mut moved = *group;
            moved.addresses.iter_mut().for_each(|address| *address = *address - BASE + 0x10_0000);
            moved
        }).collect();
        prop_assert_eq!(digest_of(&moved, 0x10_0000), whole);
    }

    #[test]
    fn chunks_do_not_matter(groups in proptest::collection::vec(any_group(BASE), 1..60), cut in 0usize..60) {
        let (first, second) = groups.split_at(cut.min(groups.len()));
        let digest = digest_of_chunks(&[second.to_vec(), first.to_vec()], BASE);
        prop_assert_eq!(digest, digest_of(&groups, BASE));
    }
}

/// A group of a few threads, which mostly access the same addresses as other groups.
fn often_repeated() -> impl Strategy<Value = AccessGroup> {
    let mask = prop_oneof![2 => Just(u32::MAX), 1 => 1u32.., 1 => Just(1)];
    let moved = prop_oneof![6 => Just(0), 1 => 0u64..2];
    (0u16..2, 0u32..2, mask, moved, 0u64..32).prop_map(|(site, warp, mask, moved, lane)| {
        let mut group = AccessGroup {
            site: SiteId::new(1, 14 * site),
            warp,
            mask,
            ..base_group()
        };
        let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
        for (at, address) in lanes.zip(&mut group.addresses) {
            *address = BASE + 4 * at + if at == lane { 128 * moved } else { 0 };
        }
        group
    })
}

proptest! {
    #[test]
    fn repeated_accesses_count_each_time(groups in vec(often_repeated(), 1..60)) {
        let mut sum = LaunchDigest::default();
        for group in &groups {
            sum += digest_of(&[*group], BASE);
        }
        prop_assert_eq!(digest_of(&groups, BASE), sum);
    }
}
