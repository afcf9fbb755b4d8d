//! Tests for `widths`.

use super::*;
use crate::counts::Counts;
use superstep_trace::{AccessGroup, Op};

#[test]
fn widths_of_a_kernel_sum_to_its_accesses() {
    let mut counts = Counts::default();
    for (width_bytes, mask) in [(4, u32::MAX), (4, 0xffff), (16, 0xff), (12, 0xff)] {
        let group = AccessGroup {
            width_bytes,
            mask,
            ..AccessGroup::EMPTY
        };
        counts.group(&group, Op::Load);
    }
    let kernel = KernelCounts {
        kernel: "f".to_owned(),
        kernel_symbol: "_Z1fv".to_owned(),
        launches: 1,
        ctas: 1,
        counts,
    };
    let table = table(&[kernel]);
    let column = |name| -> Vec<String> {
        let cells = (0..table.rows()).map(|row| table.text(row, name).unwrap());
        cells.collect()
    };
    assert_eq!(column("kernel"), ["f"; 3]);
    assert_eq!(column("width_bytes"), ["4", "16", "0"]);
    assert_eq!(column("accesses"), ["48", "8", "8"]);
    assert_eq!(column("share"), ["0.75", "0.125", "0.125"]);
}
