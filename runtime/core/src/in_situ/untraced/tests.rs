//! Tests for `untraced`.

use super::*;

#[test]
fn every_byte_has_its_last_writer() {
    let entries = [Entry::UNWRITTEN, Entry::HOST, Entry::UNKNOWN];
    let (mut ranges, mut plain) = (Untraced::default(), [Entry::UNWRITTEN; 64]);
    // Reproducible pseudorandom numbers.
    let mut seed = 12345u64;
    for _ in 0..5000 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
        let (start, bytes, kind) = (seed >> 58, seed >> 40 & 15, seed >> 50 & 3);
        let end = (start + bytes).min(64);
        let entry = entries[kind as usize % 3];
        ranges.set(start, end, entry);
        plain[start as usize..end as usize].fill(entry);
        let mut found = [Entry::UNWRITTEN; 64];
        for (from, to, entry) in ranges.parts(3, 60) {
            found[from as usize..to as usize].fill(entry);
        }
        assert_eq!(found[3..60], plain[3..60]);
        let all: Vec<_> = ranges
            .ranges
            .iter()
            .map(|(&at, &(to, _))| (at, to))
            .collect();
        assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{all:?}");
    }
}
