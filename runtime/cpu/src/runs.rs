//! Forms groups of lanes from what a defined probe logs: "smallest site first", as for the accesses of a trace (`merge.rs`).
//!
//! An entry here is a head (width << 32 | site of its first place) and a payload for each place of a *run*, which a thread passes without
//! letting any other run (`instrument/src/defined/runs.rs`). Lanes that are together at the first place are together at all of them.

use crate::merge::{LANES, LogEntry};

/// Places of an entry at most.
pub const MOST_PLACES: usize = 62;
/// Words of an entry at most.
pub const MOST_WORDS: usize = MOST_PLACES + 2;

/// Lanes that were at the places of a run together.
#[derive(Debug)]
pub struct Run<'a> {
    /// Width and site of the first place.
    pub head: u64,
    pub mask: u32,
    /// The entry of each of them, from the lowest lane on: head, payloads, and a word to make the number even.
    pub rows: &'a [&'a [u64]],
}

/// Merges the logs of a warp's lanes and hands every run to `sink`. `words_of` says how many words the entry of a site has.
pub fn merge_warp(
    lanes: &[&[LogEntry]; LANES],
    words_of: impl Fn(u32) -> usize,
    mut sink: impl FnMut(&Run<'_>),
) {
    let mut live = Lanes::of(lanes);
    let mut rows: [&[u64]; LANES] = [&[]; LANES];
    while live.count > 0 {
        let first = live.rests[0][0];
        let rests = &live.rests[..live.count];
        // While all lanes agree, none has to be looked for.
        let is_uniform = rests
            .iter()
            .fold(0, |differ, rest| differ | rest[0] ^ first)
            == 0;
        let smallest = if is_uniform {
            first
        } else {
            let heads = rests.iter().map(|rest| rest[0]);
            heads.min_by_key(|head| key(*head)).unwrap_or(first)
        };
        let words = words_of(smallest as u32);
        let (mut mask, mut count, mut some_ended) = (0, 0, false);
        for (rest, bit) in live.rests[..live.count].iter_mut().zip(live.bits) {
            if rest[0] != smallest {
                continue;
            }
            let (row, behind) = rest.split_at(words.clamp(2, rest.len()));
            rows[count] = row;
            count += 1;
            mask |= bit;
            *rest = behind;
            some_ended |= behind.is_empty();
        }
        sink(&Run {
            head: smallest,
            mask,
            rows: &rows[..count],
        });
        if some_ended {
            live.drop_ended();
        }
    }
}

/// Site first, then width: the order of groups.
const fn key(head: u64) -> u64 {
    head.rotate_left(32)
}

/// Lanes with something left, from the lowest on.
struct Lanes<'a> {
    rests: [&'a [u64]; LANES],
    bits: [u32; LANES],
    count: usize,
}

impl<'a> Lanes<'a> {
    fn of(lanes: &[&'a [LogEntry]; LANES]) -> Self {
        let mut live = Lanes {
            rests: lanes.map(LogEntry::words),
            bits: std::array::from_fn(|lane| 1 << lane),
            count: LANES,
        };
        live.drop_ended();
        live
    }

    fn drop_ended(&mut self) {
        let mut kept = 0;
        for index in 0..self.count {
            if !self.rests[index].is_empty() {
                (self.rests[kept], self.bits[kept]) = (self.rests[index], self.bits[index]);
                kept += 1;
            }
        }
        self.count = kept;
    }
}

/// The bits that are set in the payloads of all rows, and of any row, for each word of an entry.
#[derive(Debug)]
pub struct Bits {
    pub all: [u64; MOST_WORDS],
    pub any: [u64; MOST_WORDS],
}

impl Bits {
    pub const EMPTY: Bits = Bits {
        all: [0; MOST_WORDS],
        any: [0; MOST_WORDS],
    };

    /// Of the words of entries of the same length, at most [`MOST_WORDS`].
    pub fn set(&mut self, rows: &[&[u64]]) {
        let words = rows.first().map_or(0, |row| row.len()).min(MOST_WORDS);
        if std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it.
            unsafe { self.set_avx512(rows, words) }
        } else if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has it.
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

    /// Columns of eight words, then of two.
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
mod tests {
    use super::*;
    use crate::merge;
    use proptest::prelude::*;
    use superstep_trace::AccessGroup;

    /// Sites 0 to 14 in runs of 1, 3, 1, 8 and 2 places: by site, how many follow.
    const FOLLOWERS: [usize; 15] = [0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    const HEADS: [u32; 5] = [0, 1, 4, 5, 13];

    fn words_of(site: u32) -> usize {
        (2 + FOLLOWERS[site as usize]).next_multiple_of(2)
    }

    /// What a lane logs that comes to these runs.
    fn log(heads: &[u32], seed: u64) -> Vec<LogEntry> {
        let mut words = Vec::new();
        for &head in heads {
            words.push(u64::from(head));
            let payloads = words.len() as u64..(words.len() + words_of(head) - 1) as u64;
            words.extend(payloads.map(|payload| payload.wrapping_mul(seed)));
        }
        let pairs = words.chunks_exact(2);
        pairs
            .map(|pair| LogEntry {
                width_and_site: pair[0],
                address: pair[1],
            })
            .collect()
    }

    /// The same with an entry for each place.
    fn place_by_place(log: &[LogEntry]) -> Vec<LogEntry> {
        let (mut rest, mut entries) = (LogEntry::words(log), Vec::new());
        while let Some(&head) = rest.first() {
            let places = 1 + FOLLOWERS[head as usize];
            let payloads = rest[1..=places].iter();
            entries.extend(payloads.zip(head..).map(|(&address, site)| LogEntry {
                width_and_site: site,
                address,
            }));
            rest = &rest[words_of(head as u32)..];
        }
        entries
    }

    fn slices(logs: &[Vec<LogEntry>]) -> [&[LogEntry]; LANES] {
        std::array::from_fn(|lane| logs.get(lane).map_or(&[][..], Vec::as_slice))
    }

    proptest! {
        /// Site, lanes and payloads of every group are those of logs with an entry for each place, in the same order.
        #[test]
        fn runs_are_grouped_as_their_places_are(
            heads in prop::collection::vec(prop::collection::vec(prop::sample::select(&HEADS[..]), 0..20), 0..=LANES),
            seed in 1u64..,
        ) {
            let logs: Vec<_> = (heads.iter().zip(seed..u64::MAX)).map(|(heads, seed)| log(heads, seed)).collect();
            let singles: Vec<_> = logs.iter().map(|log| place_by_place(log)).collect();
            let mut expected = Vec::new();
            merge::merge_warp(&slices(&singles), &mut AccessGroup::EMPTY.clone(), |group| {
                expected.push((group.site.0, group.mask, group.active_addresses().to_vec()));
            });
            let mut found = Vec::new();
            merge_warp(&slices(&logs), words_of, |run| {
                for place in 0..=FOLLOWERS[run.head as usize] {
                    let payloads = run.rows.iter().map(|row| row[1 + place]).collect();
                    found.push((run.head as u32 + place as u32, run.mask, payloads));
                }
            });
            prop_assert_eq!(found, expected);
        }

        /// Whatever the processor has.
        #[test]
        fn bits_are_those_of_all_rows_and_of_any(
            pairs in 1..=MOST_WORDS / 2,
            lanes in 1..=LANES,
            seed in any::<u64>(),
        ) {
            let mut state = seed;
            let rows: Vec<Vec<u64>> = (0..lanes).map(|_| {
                (0..2 * pairs).map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    // Some bits in all, some in none.
                    state >> 20 | 0xff0 << 44
                }).collect()
            }).collect();
            let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
            let mut bits = Bits::EMPTY;
            let mut plain = Bits::EMPTY;
            bits.set(&rows);
            plain.set_columns(&rows, 2 * pairs);
            for word in 0..2 * pairs {
                let column = rows.iter().map(|row| row[word]);
                let all = column.clone().fold(u64::MAX, |all, payload| all & payload);
                let any = column.fold(0, |any, payload| any | payload);
                prop_assert_eq!((bits.all[word], bits.any[word]), (all, any));
                prop_assert_eq!((plain.all[word], plain.any[word]), (all, any));
            }
        }
    }

    #[test]
    fn a_log_that_ends_within_an_entry_is_read_to_its_end() {
        let whole = log(&[5], 3);
        let logs = [whole[..3].to_vec()];
        let mut lengths = Vec::new();
        merge_warp(&slices(&logs), words_of, |run| {
            lengths.push(run.rows[0].len())
        });
        assert_eq!(lengths, [6]);
    }
}
