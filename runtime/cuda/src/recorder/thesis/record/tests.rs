//! Tests of `record`.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn packing_keeps_every_field(
        cta: u32, site: u32, address: u64, width_bytes: u32, thread in 0u32..1024, sm in 0u32..4096,
        group in 1u32..=32, leader: bool, odd_lap: bool,
    ) {
        let fields = Fields { cta, site, address, width_bytes, thread, sm, group, leader, odd_lap };
        prop_assert_eq!(Record::pack(&fields).unpack(), fields);
    }
}

#[test]
fn words_are_laid_out_as_documented() {
    let fields = Fields {
        cta: 7,
        site: 0x0002_0003,
        address: 0x7f00_1234,
        width_bytes: 16,
        thread: 5,
        sm: 131,
        group: 32,
        leader: true,
        odd_lap: true,
    };
    let record = Record::pack(&fields);
    assert_eq!(record.cta_site, 0x0000_0007_0002_0003);
    assert_eq!(
        record.detail,
        16 << 32 | 1 << 31 | 1 << 30 | 31 << 22 | 131 << 10 | 5
    );
}
