//! Tests for `groups`.

use super::*;
use crate::recorder::thesis::record::tests::Fields;
use proptest::prelude::*;
use superstep_trace::SiteId;

/// Builds the records that the device writes for `group`.
pub fn records(group: &AccessGroup) -> Vec<Record> {
    let threads: Vec<_> = group.threads().collect();
    let pack = |(index, &(thread, address)): (usize, &(u32, u64))| {
        Record::pack(&Fields {
            cta: group.cta,
            site: group.site.0,
            address,
            width_bytes: group.width_bytes,
            thread,
            sm: group.sm,
            group: threads.len() as u32,
            leader: index == 0,
            odd_lap: true,
        })
    };
    threads.iter().enumerate().map(pack).collect()
}

fn any_group() -> impl Strategy<Value = AccessGroup> {
    (
        any::<u32>(),
        any::<u32>(),
        0u32..32,
        0u32..4096,
        1u32..,
        any::<u32>(),
        any::<[u64; 32]>(),
    )
        .prop_map(
            |(site, cta, warp, sm, mask, width_bytes, addresses)| AccessGroup {
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

/// Pushes `records` in pieces of the given sizes, since windows may end anywhere.
fn push_all(records: &[Record], pieces: &[usize], builder: &mut GroupBuilder) -> Vec<AccessGroup> {
    let (mut actual, mut rest) = (Vec::new(), records);
    for &piece in pieces {
        let (now, later) = rest.split_at(piece.min(rest.len()));
        builder.push(now, &mut |group| actual.push(*group));
        rest = later;
    }
    builder.push(rest, &mut |group| actual.push(*group));
    builder.flush(&mut |group| actual.push(*group));
    actual
}

proptest! {
    #[test]
    fn groups_are_rebuilt_whole_and_in_order(
        groups in prop::collection::vec(any_group(), 0..20),
        pieces in prop::collection::vec(0usize..70, 0..20),
    ) {
        let all: Vec<_> = groups.iter().flat_map(records).collect();
        let mut builder = GroupBuilder::default();
        prop_assert_eq!(push_all(&all, &pieces, &mut builder), groups);
        prop_assert_eq!(builder.take_broken_records(), 0);
    }

    #[test]
    fn records_around_missing_ones_are_preserved(
        groups in prop::collection::vec(any_group(), 1..8),
        keep: Vec<bool>,
        pieces in prop::collection::vec(0usize..70, 0..8),
    ) {
        let all: Vec<_> = groups.iter().flat_map(records).collect();
        let is_present = |index: usize| keep.get(index).copied().unwrap_or(true);
        let present: Vec<_> = (0..all.len()).filter(|&index| is_present(index)).map(|index| all[index]).collect();
        let mut builder = GroupBuilder::default();
        let actual = push_all(&present, &pieces, &mut builder);
        prop_assert_eq!(actual.iter().map(AccessGroup::lanes).sum::<usize>(), present.len());
    }
}

#[test]
fn merged_sites_and_widths_become_separate_groups() {
    let mut all = AccessGroup {
        mask: 0b1111,
        width_bytes: 4,
        ..AccessGroup::EMPTY
    };
    all.addresses[..4].copy_from_slice(&[10, 11, 12, 13]);
    let mut merged = records(&all);
    merged[1].cta_site |= 5;
    merged[3].cta_site |= 5;
    merged[2].detail = merged[2].detail & 0xffff_ffff | 8 << 32;
    let actual = push_all(&merged, &[], &mut GroupBuilder::default());
    let seen: Vec<_> = actual
        .iter()
        .map(|g| {
            (
                g.site.0,
                g.mask,
                g.width_bytes,
                g.active_addresses().to_vec(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (0, 1, 4, vec![10]),
            (5, 0b1010, 4, vec![11, 13]),
            (0, 0b100, 8, vec![12])
        ]
    );
}
