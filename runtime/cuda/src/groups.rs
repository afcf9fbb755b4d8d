//! Rebuilds access groups from the records of one bin.
//!
//! A group's records lie in the bin one after the other, in lane order, the first one marked. A group may cross the end
//! of a window, so a builder keeps what is unfinished until the bin's next records come.

use crate::record::{Fields, Record};
use superstep_trace::{AccessGroup, SiteId, WARP_LANES};

/// State between two pieces of one bin.
#[derive(Debug)]
pub struct GroupBuilder {
    pending: [Fields; WARP_LANES],
    have: usize,
    want: usize,
    broken_records: u64,
}

const NO_FIELDS: Fields = Fields {
    cta: 0,
    site: 0,
    address: 0,
    width_bytes: 0,
    thread: 0,
    sm: 0,
    group: 1,
    leader: false,
    odd_lap: false,
};

impl Default for GroupBuilder {
    fn default() -> Self {
        GroupBuilder {
            pending: [NO_FIELDS; WARP_LANES],
            have: 0,
            want: 0,
            broken_records: 0,
        }
    }
}

impl GroupBuilder {
    /// Takes the bin's next record; gives every group that it completes to `emit`.
    pub fn push(&mut self, record: &Record, emit: &mut impl FnMut(&AccessGroup)) {
        let fields = record.unpack();
        if fields.leader {
            self.flush(emit);
            self.want = fields.group as usize;
        } else if self.have == 0 {
            // Its leader never came: only after a fault. It still is an access, so it becomes a group of its own.
            self.broken_records += 1;
            self.want = 1;
        }
        self.pending[self.have] = fields;
        self.have += 1;
        if self.have == self.want {
            self.emit(emit);
        }
    }

    /// Gives away a group whose last records never came (after a fault), with the lanes that did.
    pub fn flush(&mut self, emit: &mut impl FnMut(&AccessGroup)) {
        if self.have > 0 {
            self.broken_records += self.have as u64;
            self.emit(emit);
        }
    }

    /// Records that were not part of a whole group since the last call: 0 unless a kernel faulted.
    pub fn take_broken_records(&mut self) -> u64 {
        std::mem::take(&mut self.broken_records)
    }

    /// The compiler may merge the probe calls of two sites into one, and a lane's width may vary, so records that were
    /// written together become one group for each (site, width), in the order of their first lanes.
    fn emit(&mut self, emit: &mut impl FnMut(&AccessGroup)) {
        let mut left = (1u64 << self.have) - 1;
        while left != 0 {
            let first = self.pending[left.trailing_zeros() as usize];
            let mut group = AccessGroup {
                site: SiteId(first.site),
                cta: first.cta,
                warp: first.thread / WARP_LANES as u32,
                sm: first.sm,
                width_bytes: first.width_bytes,
                ..AccessGroup::EMPTY
            };
            let mut lanes = 0;
            let mut rest = left;
            while rest != 0 {
                let index = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let fields = &self.pending[index];
                let bit = 1u32 << (fields.thread % WARP_LANES as u32);
                let same = (
                    fields.site,
                    fields.width_bytes,
                    fields.cta,
                    fields.thread / WARP_LANES as u32,
                ) == (first.site, first.width_bytes, first.cta, group.warp);
                // Lanes come in ascending order; anything else belongs to a later group.
                if same && bit > group.mask {
                    group.mask |= bit;
                    group.addresses[lanes] = fields.address;
                    lanes += 1;
                    left &= !(1 << index);
                }
            }
            emit(&group);
        }
        self.have = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The records that the device writes for `group`.
    pub fn records(group: &AccessGroup) -> Vec<Record> {
        let threads: Vec<_> = group.threads().collect();
        let pack = |(index, &(thread, address)): (usize, &(u32, u64))| {
            Record::pack(&Fields {
                cta: group.cta,
                site: group.site.0,
                address,
                width_bytes: group.width_bytes,
                thread,
                sm: group.sm,
                group: threads.len() as u32,
                leader: index == 0,
                odd_lap: true,
            })
        };
        threads.iter().enumerate().map(pack).collect()
    }

    fn any_group() -> impl Strategy<Value = AccessGroup> {
        (
            any::<u32>(),
            any::<u32>(),
            0u32..32,
            0u32..4096,
            1u32..,
            any::<u32>(),
            any::<[u64; 32]>(),
        )
            .prop_map(
                |(site, cta, warp, sm, mask, width_bytes, addresses)| AccessGroup {
                    site: SiteId(site),
                    cta,
                    warp,
                    sm,
                    mask,
                    width_bytes,
                    addresses,
                },
            )
    }

    proptest! {
        #[test]
        fn groups_come_back_whole_and_in_order(groups in prop::collection::vec(any_group(), 0..20)) {
            let mut builder = GroupBuilder::default();
            let mut back = Vec::new();
            for record in groups.iter().flat_map(records) {
                builder.push(&record, &mut |group| back.push(*group));
            }
            builder.flush(&mut |group| back.push(*group));
            prop_assert_eq!(back, groups);
            prop_assert_eq!(builder.take_broken_records(), 0);
        }

        #[test]
        fn whatever_is_missing_the_rest_comes_back(groups in prop::collection::vec(any_group(), 1..8), keep: Vec<bool>) {
            let all: Vec<_> = groups.iter().flat_map(records).collect();
            let kept: Vec<_> =
                all.iter().enumerate().filter(|(index, _)| keep.get(*index).copied().unwrap_or(true)).collect();
            let mut builder = GroupBuilder::default();
            let mut accesses = 0;
            for (_, record) in &kept {
                builder.push(record, &mut |group| accesses += group.lanes());
            }
            builder.flush(&mut |group| accesses += group.lanes());
            prop_assert_eq!(accesses, kept.len());
        }
    }

    #[test]
    fn merged_sites_and_widths_become_groups_of_their_own() {
        let mut all = AccessGroup {
            mask: 0b1111,
            width_bytes: 4,
            ..AccessGroup::EMPTY
        };
        all.addresses[..4].copy_from_slice(&[10, 11, 12, 13]);
        let mut together = records(&all);
        together[1].cta_site |= 5;
        together[3].cta_site |= 5;
        together[2].detail = together[2].detail & 0xffff_ffff | 8 << 32;
        let mut builder = GroupBuilder::default();
        let mut back = Vec::new();
        for record in &together {
            builder.push(record, &mut |group| back.push(*group));
        }
        let seen: Vec<_> = back
            .iter()
            .map(|g| {
                (
                    g.site.0,
                    g.mask,
                    g.width_bytes,
                    g.active_addresses().to_vec(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (0, 1, 4, vec![10]),
                (5, 0b1010, 4, vec![11, 13]),
                (0, 0b100, 8, vec![12])
            ]
        );
    }
}
