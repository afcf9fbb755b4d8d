//! Tests for `record`.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    pub cta: u32,
    pub site: u32,
    pub address: u64,
    pub width_bytes: u32,
    pub thread: u32,
    pub sm: u32,
    pub group: u32,
    pub leader: bool,
    pub odd_lap: bool,
}

impl Record {
    /// Packs `fields` as the device does.
    pub fn pack(fields: &Fields) -> Self {
        let low = u64::from(fields.thread & 0x3ff)
            | (u64::from(fields.sm) & SM_MASK) << SM_SHIFT
            | u64::from(fields.group.wrapping_sub(1) & 31) << GROUP_SHIFT
            | u64::from(fields.odd_lap) << LAP_SHIFT
            | u64::from(fields.leader) << LEADER_SHIFT;
        Record {
            cta_site: u64::from(fields.cta) << 32 | u64::from(fields.site),
            address: fields.address,
            detail: u64::from(fields.width_bytes) << WIDTH_SHIFT | low,
        }
    }

    fn unpack(&self) -> Fields {
        Fields {
            cta: self.cta(),
            site: self.site().0,
            address: self.address,
            width_bytes: self.width_bytes(),
            thread: self.thread(),
            sm: self.sm(),
            group: self.group(),
            leader: self.is_leader(),
            odd_lap: self.odd_lap(),
        }
    }
}

proptest! {
    #[test]
    fn packing_preserves_every_field(
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
