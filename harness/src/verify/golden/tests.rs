//! Tests for `golden`.

use super::*;

#[test]
fn running_digests_are_few_but_closely_spaced() {
    let recorded: Vec<u64> = (1..=20_003).filter(|&n| is_recorded(n)).collect();
    assert_eq!(recorded[..33], (1..=32).chain([34]).collect::<Vec<_>>());
    assert!(recorded.len() < 200, "{}", recorded.len());
    for pair in recorded[31..].windows(2) {
        assert!(pair[1] - pair[0] <= pair[0] / 16, "{pair:?}");
    }
}
