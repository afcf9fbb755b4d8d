//! Forms groups of lanes from the log of a user-defined probe, smallest site first, as `merge.rs` does for traced
//! accesses.
//!
//! An entry is a head (width << 32 | site of the first point) and a payload for each point of a *run*: consecutive
//! points between which no other lane can run (`instrument/src/defined/runs.rs`). Lanes that are together at the first
//! point are together at all of them.

use crate::record::merge::{LANES, Lanes, LogEntry};

pub const MAX_PLACES: usize = 62;
pub const MAX_WORDS: usize = MAX_PLACES + 2;

/// Lanes that reached the points of a run together.
#[derive(Debug)]
pub struct Run<'a> {
    /// Width and site of the first point.
    pub head: u64,
    pub mask: u32,
    /// The lanes' entries, lowest lane first: head, payloads, and a padding word if the number of words is odd.
    pub rows: &'a [&'a [u64]],
}

/// Merges the logs of a warp's lanes and passes every run to `sink`. `words_of` returns the number of words in a site's
/// entry.
pub fn merge_warp(
    lanes: &[&[LogEntry]; LANES],
    words_of: impl Fn(u32) -> usize,
    mut sink: impl FnMut(&Run<'_>),
) {
    let mut live = Lanes::new(lanes.map(LogEntry::words));
    let mut rows: [&[u64]; LANES] = [&[]; LANES];
    while live.count > 0 {
        let first = live.tails[0][0];
        let tails = &live.tails[..live.count];
        // Fast path while all lanes agree.
        let is_uniform = tails
            .iter()
            .fold(0, |differ, rest| differ | rest[0] ^ first)
            == 0;
        let smallest = match is_uniform {
            true => first,
            // Orders groups by site, then by width.
            false => {
                let heads = tails.iter().map(|rest| rest[0]);
                heads
                    .min_by_key(|head| head.rotate_left(32))
                    .unwrap_or(first)
            }
        };
        let words = words_of(smallest as u32);
        let (mut mask, mut count, mut any_ended) = (0, 0, false);
        for (rest, bit) in live.tails[..live.count].iter_mut().zip(live.bits) {
            if rest[0] != smallest {
                continue;
            }
            let (row, after) = rest.split_at(words.clamp(2, rest.len()));
            rows[count] = row;
            count += 1;
            mask |= bit;
            *rest = after;
            any_ended |= after.is_empty();
        }
        sink(&Run {
            head: smallest,
            mask,
            rows: &rows[..count],
        });
        if any_ended {
            live.drop_ended();
        }
    }
}

/// For each word of an entry, the bits set in all rows, and those set in any row.
#[derive(Debug)]
pub struct Bits {
    pub all: [u64; MAX_WORDS],
    pub any: [u64; MAX_WORDS],
}

impl Bits {
    pub const EMPTY: Bits = Bits {
        all: [0; MAX_WORDS],
        any: [0; MAX_WORDS],
    };

    /// Computes the bits of rows of equal length.
    pub fn set(&mut self, rows: &[&[u64]]) {
        let words = rows.first().map_or(0, |row| row.len()).min(MAX_WORDS);
        if std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor supports this extension, as just checked.
            unsafe { self.set_avx512(rows, words) }
        } else if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor supports this extension, as just checked.
            unsafe { self.set_avx2(rows, words) }
        } else {
            self.set_columns(rows, words);
        }
    }

    #[target_feature(enable = "avx512f")]
    fn set_avx512(&mut self, rows: &[&[u64]], words: usize) {
        self.set_columns(rows, words);
    }

    #[target_feature(enable = "avx2")]
    fn set_avx2(&mut self, rows: &[&[u64]], words: usize) {
        self.set_columns(rows, words);
    }

    /// Computes the bits in columns of eight, four and two words.
    #[inline(always)]
    fn set_columns(&mut self, rows: &[&[u64]], words: usize) {
        let mut at = 0;
        while at + 8 <= words {
            self.set_column::<8>(rows, at);
            at += 8;
        }
        if at + 4 <= words {
            self.set_column::<4>(rows, at);
            at += 4;
        }
        if at + 2 <= words {
            self.set_column::<2>(rows, at);
        }
    }

    #[inline(always)]
    fn set_column<const WORDS: usize>(&mut self, rows: &[&[u64]], at: usize) {
        let (mut all, mut any) = ([u64::MAX; WORDS], [0; WORDS]);
        for row in rows {
            let Some(words) = row.get(at..at + WORDS) else {
                continue;
            };
            for (index, word) in words.iter().enumerate() {
                all[index] &= word;
                any[index] |= word;
            }
        }
        self.all[at..at + WORDS].copy_from_slice(&all);
        self.any[at..at + WORDS].copy_from_slice(&any);
    }
}

#[cfg(test)]
mod tests;
