//! Who wrote memory that no traced launch has touched since.

use super::entry::Entry;
use std::collections::BTreeMap;

/// Disjoint ranges; outside of them nobody has written.
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
        // Those that touch it are joined with it if they say the same, so that many small copies do not become many ranges.
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

    /// The parts of `start..end` that somebody wrote, from the highest down.
    pub fn parts(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64, Entry)> + '_ {
        let below = self.ranges.range(..end).rev();
        (below.take_while(move |(_, (behind, _))| *behind > start))
            .map(move |(&at, &(behind, entry))| (at.max(start), behind.min(end), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_last_writer() {
        let entries = [Entry::NOBODY, Entry::HOST, Entry::UNKNOWN];
        let (mut ranges, mut plain) = (Untraced::default(), [Entry::NOBODY; 64]);
        // Numbers that only look like chance.
        let mut seed = 12345u64;
        for _ in 0..5000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            let (start, bytes, kind) = (seed >> 58, seed >> 40 & 15, seed >> 50 & 3);
            let end = (start + bytes).min(64);
            let entry = entries[kind as usize % 3];
            ranges.set(start, end, entry);
            plain[start as usize..end as usize].fill(entry);
            let mut found = [Entry::NOBODY; 64];
            for (from, to, entry) in ranges.parts(3, 60) {
                found[from as usize..to as usize].fill(entry);
            }
            assert_eq!(found[3..60], plain[3..60]);
            let all: Vec<_> = ranges
                .ranges
                .iter()
                .map(|(&at, &(to, _))| (at, to))
                .collect();
            assert!(all.windows(2).all(|two| two[0].1 <= two[1].0), "{all:?}");
        }
    }
}
