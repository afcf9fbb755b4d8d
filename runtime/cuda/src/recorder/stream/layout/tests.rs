//! Tests for `layout`.

use super::super::wire;
use super::*;
use crate::tests::{assert_constants, layout};

/// The C compiler checks our offsets against the header.
#[test]
fn the_device_header_has_the_same_layout() {
    let shape = Shape {
        rings: MAX_RINGS,
        piece_units: 1,
        slots: 1,
        host_slots: 1,
    };
    let constants = [
        (
            "(unsigned long long)STREAM_RINGS_MASK << STREAM_RINGS_SHIFT",
            shape.parameter(),
        ),
        ("STREAM_UNIT_BYTES", UNIT_BYTES as u64),
        ("STREAM_MIN_PIECE_UNITS", MIN_PIECE_UNITS as u64),
        ("STREAM_MAX_SLOTS", MAX_SLOTS as u64),
        ("STREAM_PIECE_SHIFT", u64::from(PIECE_SHIFT)),
        ("STREAM_SLOTS_SHIFT", u64::from(SLOTS_SHIFT)),
        ("STREAM_FORM_RUN", u64::from(wire::FORM_RUN)),
        ("STREAM_FORM_OFFSETS_16", wire::FORM_OFFSETS_16.into()),
        ("STREAM_FORM_OFFSETS_32", wire::FORM_OFFSETS_32.into()),
        ("STREAM_FORM_OFFSETS_64", wire::FORM_OFFSETS_64.into()),
        ("STREAM_FORM_MASK", u64::from(wire::FORM_MASK)),
        ("STREAM_TAG_LONG", u64::from(wire::TAG_LONG)),
        ("STREAM_TAG_PIECE_SHIFT", wire::TAG_PIECE_SHIFT.into()),
        ("SUPERSTEP_STREAM_VERSION", VERSION),
        ("sizeof(struct StreamRing)", RING_BYTES as u64),
    ];
    let mut all = constants
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec();
    all.extend(layout!(
        "StreamHeader",
        Header,
        version,
        host_slots,
        data,
        ready
    ));
    all.extend(layout!(
        "StreamHeader",
        Header,
        taken,
        ended,
        serial,
        arrived
    ));
    assert_constants("stream.h", &all);
}

#[test]
fn shapes_are_rounded_to_valid_ones() {
    let min = Shape::rounded(0, 0, 0, 0);
    assert_eq!(
        (min.rings, min.piece_units, min.slots, min.host_slots),
        (1, 32, 2, 1)
    );
    let max = Shape::rounded(usize::MAX, usize::MAX, usize::MAX, usize::MAX);
    assert_eq!(
        (max.rings, max.piece_units, max.slots, max.host_slots),
        (MAX_RINGS, 1 << 20, MAX_SLOTS, 1 << 16)
    );
    assert_eq!(Shape::rounded(132, 4000, 3, 20).piece_bytes(), 64 << 10);
}
