//! Bytes last written by the host or an opaque launch, used for memory that no traced kernel has written yet.

use super::shadow::Tag;
use std::collections::BTreeMap;

/// Last writers other than traced kernels. Each byte has at most one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Untraced {
    host: Ranges,
    unknown: Ranges,
}

impl Untraced {
    pub(crate) fn set(&mut self, start: u64, end: u64, tag: Tag) {
        for (writer, ranges) in [
            (Tag::HOST, &mut self.host),
            (Tag::UNKNOWN, &mut self.unknown),
        ] {
            if writer == tag {
                ranges.insert(start, end);
            } else {
                ranges.remove(start, end);
            }
        }
    }

    /// Returns the written parts of `start..end`, in no particular order.
    pub(crate) fn parts(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64, Tag)> + '_ {
        let all = [(Tag::HOST, &self.host), (Tag::UNKNOWN, &self.unknown)];
        all.into_iter().flat_map(move |(tag, ranges)| {
            (ranges.parts(start, end)).map(move |(from, to)| (from, to, tag))
        })
    }
}

/// A set of addresses, stored as disjoint, non-adjacent ranges.
#[derive(Clone, Debug, Default)]
struct Ranges {
    ranges: BTreeMap<u64, u64>,
}

impl Ranges {
    fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let (mut from, mut to) = (start, end);
        // Includes adjacent ranges.
        for (s, e) in self.take(start.saturating_sub(1), end.saturating_add(1)) {
            (from, to) = (from.min(s), to.max(e));
        }
        self.ranges.insert(from, to);
    }

    fn remove(&mut self, start: u64, end: u64) {
        for (s, e) in self.take(start, end) {
            if s < start {
                self.ranges.insert(s, start);
            }
            if e > end {
                self.ranges.insert(end, e);
            }
        }
    }

    /// Removes and returns the ranges that overlap `start..end`.
    fn take(&mut self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let below = self.ranges.range(..end).rev();
        let overlapping = below.take_while(|&(_, &e)| e > start && start < end);
        let overlapping: Vec<(u64, u64)> = overlapping.map(|(&s, &e)| (s, e)).collect();
        for (s, _) in &overlapping {
            self.ranges.remove(s);
        }
        overlapping
    }

    /// Returns the parts of `start..end` that are in the set, in descending order.
    fn parts(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges
            .range(..end)
            .rev()
            .take_while(move |&(_, &e)| e > start)
            .map(move |(&s, &e)| (s.max(start), e.min(end)))
    }
}

#[cfg(test)]
mod tests;
