//! Tests for `layout`.

use super::*;
use crate::tests::{assert_constants, layout};

#[test]
fn the_device_header_has_the_same_layout() {
    let constants = [
        ("IN_SITU_VERSION", VERSION),
        ("IN_SITU_LAUNCH_BITS", LAUNCH_BITS.into()),
        ("IN_SITU_SLOT_SHIFT", SLOT_SHIFT.into()),
        ("IN_SITU_BLOCK_SHIFT", BLOCK_SHIFT.into()),
        ("IN_SITU_ENTRY_BYTES", ENTRY_BYTES),
        ("1ull << IN_SITU_LINE_SHIFT", LINE_BYTES),
        ("IN_SITU_KNOWN_BYTES", KNOWN_BYTES as u64),
        ("IN_SITU_KNOWN_LAUNCHES", KNOWN_LAUNCHES),
        ("IN_SITU_WIDTHS", WIDTHS as u64),
        ("IN_SITU_COPIES", COPIES as u64),
        ("IN_SITU_SUMS", SUMS as u64),
        ("IN_SITU_INPUT", INPUT_CLASS as u64),
        ("IN_SITU_THREADS", THREADS as u64),
        ("IN_SITU_MISSING", MISSING as u64),
        ("IN_SITU_ODD_THREADS", ODD_THREADS as u64),
        ("IN_SITU_ODD_BYTES", ODD_BYTES as u64),
        ("IN_SITU_BYTES", BYTES as u64),
        ("IN_SITU_PERHAPS_LOCAL", PERHAPS_LOCAL as u64),
        ("IN_SITU_SEVERAL_WRITERS", SEVERAL_WRITERS as u64),
        ("IN_SITU_RACING", RACING as u64),
        ("IN_SITU_NEW_ROWS", NEW_ROWS as u64),
        ("IN_SITU_NOT_SPLIT", NOT_SPLIT as u64),
        ("IN_SITU_UNSHADOWED_LOADED", UNSHADOWED_LOADED as u64),
        ("IN_SITU_UNSHADOWED_STORED", UNSHADOWED_STORED as u64),
        ("IN_SITU_WITHIN_LAUNCH", WITHIN_LAUNCH as u64),
        ("IN_SITU_LAUNCH_SHIFT", LAUNCH_SHIFT.into()),
        ("IN_SITU_CTA_SHIFT", CTA_SHIFT.into()),
        ("IN_SITU_CTA_MASK", CTA_MASK),
        ("IN_SITU_OF_LAUNCHES", OF_LAUNCHES),
        ("IN_SITU_PERHAPS_AGAIN", PERHAPS_AGAIN),
        ("IN_SITU_ADDED_MASK", ADDED_MASK),
        ("IN_SITU_ADDED_COUNT_SHIFT", ADDED_COUNT_SHIFT.into()),
    ];
    let mut all = constants
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec();
    all.extend(layout!("InSituBlock", Block, number, lines, shadow, unused));
    all.extend(layout!(
        "InSituTransfer",
        Transfer,
        source,
        receiver,
        bytes,
        count,
        stored,
        unused
    ));
    all.extend(layout!("InSituAddition", Addition, source, receiver));
    all.extend(layout!(
        "InSituContext",
        Context,
        version,
        blocks,
        block_mask,
        known,
        sums,
        readers,
        reader_mask,
        transfers,
        transfer_mask,
        kernels,
        split,
        split_most,
        more_split,
        more_split_most,
        selection,
        block_bits,
        additions,
        addition_mask,
        added,
        taken
    ));
    assert_constants("in_situ.h", &all);
}
