//! Tests for `layout`.

use super::*;
use std::mem::{offset_of, size_of};

#[test]
fn the_context_has_the_layout_from_the_header() {
    assert_eq!(size_of::<ProbeContext>(), 72);
    assert_eq!(offset_of!(ProbeContext, tables), 32);
    assert_eq!(offset_of!(ProbeContext, launch), 56);
    assert_eq!(offset_of!(ProbeContext, first_slot), 64);
    assert_eq!(offset_of!(ProbeContext, replicas), 68);
}
