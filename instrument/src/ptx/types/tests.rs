//! Tests for `types`.

use super::*;

#[test]
fn type_names_round_trip_and_others_are_rejected() {
    for name in [
        "b8", "u16", "s32", "f64", "b128", "f16x2", "bf16", "bf16x2", "u8x4", "pred",
    ] {
        assert_eq!(Kind::of(name).unwrap().name(), name);
    }
    for name in ["sync", "u24", "f8", "x2", "b", "sat", "e4m3x2"] {
        assert_eq!(Kind::of(name), None, "{name}");
    }
}
