//! Tests for `by_warp`.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn order_within_each_warp_is_preserved(keys in prop::collection::vec(0u64..600, 0..900)) {
        let (mut sorter, mut out) = (ByWarp::default(), Vec::new());
        for (offset, &key) in keys.iter().enumerate() {
            if !sorter.add(key, offset as u32) {
                sorter.drain(|offset| out.push(offset));
                prop_assert!(sorter.add(key, offset as u32));
            }
        }
        sorter.drain(|offset| out.push(offset));
        prop_assert_eq!(out.len(), keys.len());
        let offsets_of = |key: u64, order: &mut dyn Iterator<Item = u32>| {
            order.filter(|&offset| keys[offset as usize] == key).collect::<Vec<_>>()
        };
        for key in 0..600 {
            let expected = offsets_of(key, &mut (0..keys.len() as u32));
            prop_assert_eq!(offsets_of(key, &mut out.iter().copied()), expected);
        }
    }
}
