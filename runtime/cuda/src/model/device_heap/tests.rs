//! Tests for `device_heap`.

use super::around;

/// The limit, the first block, and the lowest and highest bytes of the blocks that filled the heap, measured with
/// driver 580 on an H200.
const MEASURED: [(u64, u64, u64, u64); 3] = [
    (8 << 20, 0x2_05bf_f920, 0x2_0540_0320, 0x2_05bf_ffc0),
    (32 << 20, 0x2_073f_f820, 0x2_0540_0420, 0x2_073f_ffb0),
    (1 << 30, 0x2_453f_f920, 0x2_0540_0320, 0x2_453f_ffc0),
];

#[test]
fn blocks_are_within_the_heap() {
    for (limit, first, lowest, highest) in MEASURED {
        let (start, bytes) = around(first, limit);
        assert_eq!(bytes, limit);
        assert!(start <= lowest && highest <= start + bytes, "{start:#x}");
    }
}
