//! Tests for `sorted`.

use super::*;
use crate::communication::output::volume::Transfer;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Returns numbers with few distinct values, or with any number of bits.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![
        0u32..3,
        (any::<u32>(), 0u32..32).prop_map(|(number, shift)| number >> shift)
    ]
}

proptest! {
    #[test]
    fn ordered_items_are_sorted_and_joined(
        ends in prop::collection::vec([number(), number(), number(), number()], 0..200),
    ) {
        let mut want = BTreeMap::new();
        let transfers = ends.iter().zip(1..).map(|(&ends, bytes)| {
            *want.entry(ends).or_insert(0) += bytes;
            let [source_launch, source_cta, receiver_launch, receiver_cta] = ends;
            Transfer { source_launch, source_cta, receiver_launch, receiver_cta, bytes, count: 1 }
        });
        let mut items: Vec<Transfer> = transfers.collect();
        order(&mut items);
        let found = items.iter().map(|it| {
            let ends = [it.source_launch, it.source_cta, it.receiver_launch, it.receiver_cta];
            (ends, it.bytes)
        });
        prop_assert_eq!(found.collect::<Vec<_>>(), want.into_iter().collect::<Vec<_>>());
    }
}
