//! Tests for `numbers`.

use super::*;

#[test]
fn bytes_have_three_digits_and_a_unit() {
    let shown = |value| bytes(value);
    assert_eq!(shown(0.0), "0 B");
    assert_eq!(shown(1023.0), "1023 B");
    assert_eq!(shown(1024.0), "1 KiB");
    assert_eq!(shown(1234.0), "1.21 KiB");
    assert_eq!(shown(102_375.0), "100 KiB");
    assert_eq!(shown(1_048_200.0), "1 MiB");
    assert_eq!(shown(12_345_678_901.0), "11.5 GiB");
}

#[test]
fn counts_have_three_digits() {
    let shown = [0.0, 2.5, 600.0, 1250.0, 13_107_200.0, 999_600.0].map(count);
    assert_eq!(shown, ["0", "2.5", "600", "1.25 k", "13.1 M", "1 M"]);
}

#[test]
fn only_exact_shares_are_0_or_100_percent() {
    let shown = [0.0, 0.0001, 0.477, 0.99977, 1.0].map(percent);
    assert_eq!(shown, ["0.0 %", "< 0.1 %", "47.7 %", "> 99.9 %", "100.0 %"]);
}

#[test]
fn durations_have_three_digits_and_a_unit() {
    let shown = [0.0, 480.0, 1500.0, 999_600.0, 2.5e9, 5e12].map(duration);
    assert_eq!(
        shown,
        ["0 ns", "480 ns", "1.5 µs", "1 ms", "2.5 s", "5000 s"]
    );
}
