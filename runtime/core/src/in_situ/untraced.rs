//! Writers of memory that no traced launch has touched since.

use super::entry::Entry;
use std::collections::BTreeMap;

/// Disjoint ranges; nothing has written outside of them.
#[derive(Default)]
pub struct Untraced {
    /// First byte → one past the last, and the entry of each byte.
    ranges: BTreeMap<u64, (u64, Entry)>,
}

impl Untraced {
    pub fn set(&mut self, start: u64, end: u64, entry: Entry) {
        if start >= end {
            return;
        }
        let (mut first, mut last) = (start, end);
        // Joins adjacent ranges of equal entries, so that many small copies do not become many ranges.
        let from = start.saturating_sub(1);
        let below = self.ranges.range(..=end).rev();
        let met = below.take_while(|(_, (behind, _))| *behind > from);
        let met: Vec<_> = met.map(|(&at, &range)| (at, range)).collect();
        for (at, (behind, old)) in met {
            self.ranges.remove(&at);
            if old == entry {
                (first, last) = (first.min(at), last.max(behind));
                continue;
            }
            if at < start {
                self.ranges.insert(at, (behind.min(start), old));
            }
            if behind > end {
                self.ranges.insert(at.max(end), (behind, old));
            }
        }
        if entry != Entry::NOBODY {
            self.ranges.insert(first, (last, entry));
        }
    }

    /// The written parts of `start..end`, from the highest down.
    pub fn parts(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64, Entry)> + '_ {
        let below = self.ranges.range(..end).rev();
        (below.take_while(move |(_, (behind, _))| *behind > start))
            .map(move |(&at, &(behind, entry))| (at.max(start), behind.min(end), entry))
    }
}

#[cfg(test)]
mod tests;
