//! Tests for `ranges`.

use super::*;
use proptest::prelude::*;

#[test]
fn ends_are_exclusive() {
    let ranges = Ranges::new(vec![(20, 30), (10, 15), (7, 7)]);
    assert_eq!(ranges.find(9), None);
    assert_eq!(ranges.find(10), Some((10, 15)));
    assert_eq!(ranges.find(15), None);
    assert_eq!(ranges.find(29), Some((20, 30)));
    assert_eq!(ranges.find(30), None);
    assert_eq!(Ranges::default().find(0), None);
}

proptest! {
    #[test]
    fn find_agrees_with_a_linear_search(pairs in prop::collection::vec((0u64..1000, 0u64..50), 0..40), address in 0u64..1100) {
        let list: Vec<(u64, u64)> = pairs.iter().map(|&(start, bytes)| (start, start + bytes)).collect();
        let expected = list.iter().any(|range| range.0 <= address && address < range.1);
        prop_assert_eq!(Ranges::new(list).find(address).is_some(), expected);
    }
}
