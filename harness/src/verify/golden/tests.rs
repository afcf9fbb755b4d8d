//! Tests of `golden`.

use super::*;

#[test]
fn running_digests_of_many_launches_are_few_and_dense() {
    let kept: Vec<u64> = (1..=20_003).filter(|&launches| is_kept(launches)).collect();
    assert_eq!(kept[..33], (1..=32).chain([34]).collect::<Vec<_>>());
    assert!(kept.len() < 200, "{}", kept.len());
    for pair in kept[31..].windows(2) {
        assert!(pair[1] - pair[0] <= pair[0] / 16, "{pair:?}");
    }
}
