//! Tests for `bitmap`.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn behaves_like_a_set(ranges in prop::collection::vec((0usize..PAGE_BYTES, 0usize..200), 1..20)) {
        let mut bitmap = Bitmap::new();
        for _ in 0..2 {
            let mut set = BTreeSet::new();
            for &(start, len) in &ranges {
                let len = len.min(PAGE_BYTES - start);
                let before = set.len();
                prop_assert_eq!(bitmap.count(start, len), set.range(start..start + len).count() as u64);
                set.extend(start..start + len);
                prop_assert_eq!(bitmap.insert_counting(start, len), (set.len() - before) as u64);
            }
            bitmap.clear();
            prop_assert_eq!(bitmap.count(0, PAGE_BYTES), 0);
        }
    }
}
