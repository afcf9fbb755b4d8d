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
                let count = set.range(start..start + len).count();
                prop_assert_eq!(bitmap.count(start, len), count as u64);
                prop_assert_eq!(bitmap.contains_any(start, len), count > 0);
                prop_assert_eq!(bitmap.contains_all(start, len), count == len);
                prop_assert_eq!(bitmap.contains(start), set.contains(&start));
                set.extend(start..start + len);
                prop_assert_eq!(bitmap.insert_counting(start, len), (set.len() - before) as u64);
            }
            bitmap.clear();
            prop_assert_eq!(bitmap.count(0, PAGE_BYTES), 0);
        }
    }
}
