//! Tests for `runs`.

use super::*;
use crate::record::merge;
use proptest::prelude::*;
use superstep_trace::AccessGroup;

/// Number of sites that follow each of sites 0 to 14 in its run, for runs of 1, 3, 1, 8 and 2 points.
const FOLLOWERS: [usize; 15] = [0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const HEADS: [u32; 5] = [0, 1, 4, 5, 13];

fn words_of(site: u32) -> usize {
    (2 + FOLLOWERS[site as usize]).next_multiple_of(2)
}

/// Returns the log of a lane that executes these runs.
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

/// Converts a log to one entry per point.
fn point_by_point(log: &[LogEntry]) -> Vec<LogEntry> {
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
    /// Groups have the same sites, lanes and payloads, in the same order, as if each point had its own log entry.
    #[test]
    fn runs_are_grouped_like_their_points(
        heads in prop::collection::vec(prop::collection::vec(prop::sample::select(&HEADS[..]), 0..20), 0..=LANES),
        seed in 1u64..,
    ) {
        let logs: Vec<_> = (heads.iter().zip(seed..u64::MAX)).map(|(heads, seed)| log(heads, seed)).collect();
        let singles: Vec<_> = logs.iter().map(|log| point_by_point(log)).collect();
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

    /// Tests the code for the processor's widest vectors and the portable code.
    #[test]
    fn bits_combine_all_rows(
        pairs in 1..=MAX_WORDS / 2,
        lanes in 1..=LANES,
        seed in any::<u64>(),
    ) {
        let mut state = seed;
        let rows: Vec<Vec<u64>> = (0..lanes).map(|_| {
            (0..2 * pairs).map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                // Some bits are set in all words, some in none.
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
fn a_truncated_entry_is_read_to_its_end() {
    let whole = log(&[5], 3);
    let logs = [whole[..3].to_vec()];
    let mut lengths = Vec::new();
    merge_warp(&slices(&logs), words_of, |run| {
        lengths.push(run.rows[0].len())
    });
    assert_eq!(lengths, [6]);
}
