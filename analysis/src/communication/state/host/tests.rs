//! Tests for `host`.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #[test]
    fn behaves_like_a_set(steps in prop::collection::vec((any::<bool>(), 0u64..200, 0u64..60), 0..40)) {
        let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
        for (add, start, len) in steps {
            if add {
                ranges.insert(start, start + len);
                set.extend(start..start + len);
            } else {
                ranges.remove(start, start + len);
                set.retain(|a| !(start..start + len).contains(a));
            }
            let got: BTreeSet<u64> = ranges.parts(10, 150).flat_map(|(s, e)| s..e).collect();
            let want: BTreeSet<u64> = set.range(10..150).copied().collect();
            prop_assert_eq!(got, want);
            let bounds: Vec<_> = ranges.ranges.iter().map(|(&s, &e)| (s, e)).collect();
            prop_assert!(bounds.windows(2).all(|w| w[0].1 < w[1].0));
        }
    }
}
