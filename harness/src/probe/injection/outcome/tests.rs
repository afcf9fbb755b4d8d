//! Tests for `outcome`.

use super::*;

#[test]
fn intervals_match_published_values() {
    // Brown, Cai and DasGupta, "Interval estimation for a binomial proportion", 2001: n = 10, x = 0 and x = 5.
    let [_, low, high] = wilson(0, 10);
    assert!(low.abs() < 1e-12 && (high - 0.2775).abs() < 1e-4);
    let [_, low, high] = wilson(5, 10);
    assert!((low - 0.2366).abs() < 1e-4 && (high - 0.7634).abs() < 1e-4);
    assert!(wilson(0, 0)[2] == 1.0);
}

#[test]
fn numbers_in_messages_are_ignored() {
    let text = without_numbers;
    assert_eq!(text("page 0x55f [0.00011s]"), text("page 0x5a0 [12.5s]"));
    assert_ne!(text("done"), text("error 700"));
}

#[test]
fn every_class_is_counted_once() {
    let outcomes = [
        Outcome::Masked,
        Outcome::Hang,
        Outcome::Missed,
        Outcome::Masked,
    ];
    let tallies = tally(&outcomes);
    let counts: Vec<u64> = tallies.iter().map(|tally| tally.count).collect();
    assert_eq!(counts, [2, 0, 1, 0, 0, 0]);
    let text = effect_table(&[("p".into(), tallies.clone())]);
    assert!(text.contains("66.7 %") && text.contains("33.3 %"), "{text}");
    assert!(!text.contains("mean"), "{text}");
    let programs = [
        ("p".into(), tallies),
        ("q".into(), tally(&[Outcome::Masked])),
    ];
    let text = effect_table(&programs);
    let last = text.lines().last().unwrap_or_default();
    assert!(last.contains("mean") && last.contains("83.3 %"), "{text}");
}
