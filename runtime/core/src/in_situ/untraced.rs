//! The last writer of each byte, ignoring traced launches.

use super::entry::Entry;
use std::collections::BTreeMap;

/// Disjoint ranges. Bytes outside of them were not written.
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
        // Join adjacent ranges with equal entries, so that many small copies do not become many ranges.
        let from = start.saturating_sub(1);
        let below = self.ranges.range(..=end).rev();
        let touched = below.take_while(|(_, (past, _))| *past > from);
        let touched: Vec<_> = touched.map(|(&at, &range)| (at, range)).collect();
        for (at, (past, old)) in touched {
            self.ranges.remove(&at);
            if old == entry {
                (first, last) = (first.min(at), last.max(past));
                continue;
            }
            if at < start {
                self.ranges.insert(at, (past.min(start), old));
            }
            if past > end {
                self.ranges.insert(at.max(end), (past, old));
            }
        }
        if entry != Entry::UNWRITTEN {
            self.ranges.insert(first, (last, entry));
        }
    }

    /// Returns the written parts of `start..end`, highest first.
    pub fn parts(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64, Entry)> + '_ {
        let below = self.ranges.range(..end).rev();
        (below.take_while(move |(_, (past, _))| *past > start))
            .map(move |(&at, &(past, entry))| (at.max(start), past.min(end), entry))
    }
}

#[cfg(test)]
mod tests;
