//! Rebuilds access groups from the records of a bin.
//!
//! A group's records are consecutive and in lane order, and the first one is marked. A group may cross the end of a
//! window, so a builder keeps an incomplete group until it receives the bin's next records.

use crate::recorder::thesis::record::{self, Record};
use superstep_trace::{AccessGroup, WARP_LANES};

/// State between two pieces of a bin.
#[derive(Debug, Default)]
pub struct GroupBuilder {
    pending: [Record; WARP_LANES],
    have: usize,
    want: usize,
    broken_records: u64,
}

impl GroupBuilder {
    /// Adds the bin's next records and passes every group that they complete to `emit`.
    pub fn push(&mut self, mut records: &[Record], emit: &mut impl FnMut(&AccessGroup)) {
        while let Some(first) = records.first() {
            let whole = first.group() as usize;
            if self.have == 0 && first.is_leader() && records.len() >= whole {
                let (group, rest) = records.split_at(whole);
                // Another leader among these records means that the rest of this group is missing.
                if !group[1..].iter().any(Record::is_leader) {
                    emit_groups(group, emit);
                    records = rest;
                    continue;
                }
            }
            self.push_one(first, emit);
            records = &records[1..];
        }
    }

    fn push_one(&mut self, record: &Record, emit: &mut impl FnMut(&AccessGroup)) {
        if record.is_leader() {
            self.flush(emit);
            self.want = record.group() as usize;
        } else if self.have == 0 {
            // Because of a fault, the group's leader was never written. The access becomes a separate group.
            self.broken_records += 1;
            self.want = 1;
        }
        self.pending[self.have] = *record;
        self.have += 1;
        if self.have == self.want {
            emit_groups(&self.pending[..self.have], emit);
            self.have = 0;
        }
    }

    /// Passes on an incomplete group (after a fault).
    pub fn flush(&mut self, emit: &mut impl FnMut(&AccessGroup)) {
        if self.have > 0 {
            self.broken_records += self.have as u64;
            emit_groups(&self.pending[..self.have], emit);
            self.have = 0;
        }
    }

    /// Returns the number of records outside whole groups since the last call, which is 0 unless a kernel faulted.
    pub fn take_broken_records(&mut self) -> u64 {
        std::mem::take(&mut self.broken_records)
    }
}

/// Passes up to 32 records that were written together to `emit`.
///
/// Emits a group for each site and width, since the compiler may merge the probe calls of two sites, and lanes may have
/// different widths.
fn emit_groups(records: &[Record], emit: &mut impl FnMut(&AccessGroup)) {
    // CTA and site, width, warp.
    let key = |record: &Record| {
        let warp = record.detail & record::THREAD_MASK & !(WARP_LANES as u64 - 1);
        (
            record.cta_site,
            record.detail >> record::WIDTH_SHIFT << record::WIDTH_SHIFT | warp,
        )
    };
    let mut left = (1u64 << records.len()) - 1;
    while left != 0 {
        let first = &records[left.trailing_zeros() as usize];
        let mut group = AccessGroup {
            site: first.site(),
            cta: first.cta(),
            warp: first.thread() / WARP_LANES as u32,
            sm: first.sm(),
            width_bytes: first.width_bytes(),
            ..AccessGroup::EMPTY
        };
        let mut lanes = 0;
        let mut rest = left;
        while rest != 0 {
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let record = &records[index];
            let bit = 1u32 << (record.detail % WARP_LANES as u64);
            // Lanes are in ascending order; anything else belongs to a later group.
            if key(record) == key(first) && bit > group.mask {
                group.mask |= bit;
                group.addresses[lanes] = record.address;
                lanes += 1;
                left &= !(1 << index);
            }
        }
        emit(&group);
    }
}

#[cfg(test)]
mod tests;
