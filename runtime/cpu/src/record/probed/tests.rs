//! Tests for `probed`.

use super::*;
use std::mem::{offset_of, size_of};

#[test]
fn each_line_is_counted_once() {
    assert_eq!(unique_lines(&[0, 4, 31, 32, 5, 33]), 2);
    let scattered: Vec<u64> = (0..32).map(|lane| lane * 64).collect();
    assert_eq!(unique_lines(&scattered), 32);
}

#[test]
fn a_group_has_the_same_layout_as_in_the_header() {
    assert_eq!(size_of::<Group>(), 56);
    assert_eq!(offset_of!(Group, site), 24);
    assert_eq!(offset_of!(Group, unique_lines), 52);
}
