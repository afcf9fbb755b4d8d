//! Tests for `loads`.

use super::*;
use crate::bins::{STRIDE_BINS, bin};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn a_span_takes_8_bytes_in_memory_and_24_on_disk() {
    assert_eq!(size_of::<PageSpan>(), 8);
    assert_eq!(size_of::<Span>(), 24);
}

proptest! {
    #[test]
    fn distances_are_those_of_sorted_addresses(
        loads in prop::collection::vec((0u32..2, 0u64..5, 0u32..4, 0u64..PAGE_BYTES as u64), 0..200),
        far_cta in any::<bool>(),
        limited in any::<bool>(),
    ) {
        let cta = |number| if far_cta { number * 50_000_000 } else { number };
        let (mut pages, mut sets) = (BTreeMap::new(), BTreeMap::new());
        for &(launch, page, number, offset) in &loads {
            let address = page * PAGE_BYTES as u64 + offset;
            let owner = Owner { launch, cta: cta(number) };
            pages.entry((launch, page)).or_insert(Vec::new()).push((owner, address));
            sets.entry(owner).or_insert(BTreeSet::new()).insert(address);
        }
        let mut want = [StrideCounts::default(); 2];
        for (owner, set) in &sets {
            let sorted: Vec<u64> = set.iter().copied().collect();
            for pair in sorted.windows(2) {
                want[owner.launch as usize][bin(&STRIDE_BINS, pair[1] - pair[0]).unwrap()] += 1;
            }
        }
        let bytes = if limited { 0 } else { u64::MAX };
        let limit = MemoryLimit { bytes, ..MemoryLimit::none() };
        let kept = KeptLoads::new(&limit, Cancellation::default());
        let (mut shard, mut found) = (Loads::default(), [StrideCounts::default(); 2]);
        let mut by_hash: Vec<_> = pages.iter().collect();
        by_hash.sort_by_key(|((launch, page), _)| (*launch, page * 3 % 5));
        for ((launch, page), loads) in by_hash {
            // The pages of all CTAs before the last one end first.
            let mut loads = loads.clone();
            loads.sort();
            for part in loads.chunk_by(|(a, _), (b, _)| a == b || a.cta % 3 == 0) {
                part.iter().rev().for_each(|&(owner, address)| shard.add(owner, address, 0, 1));
                shard.end_ctas(part.last().unwrap().0.cta + 1);
                if page % 2 == 0 {
                    kept.append(shard.take()).unwrap();
                }
            }
            let within_pages = std::mem::take(&mut shard.distances);
            super::super::strides::add(&mut found[*launch as usize], &within_pages);
        }
        kept.append(shard.take()).unwrap();
        kept.distances(|launch, counts| {
            super::super::strides::add(&mut found[launch as usize], counts);
        }).unwrap();
        prop_assert_eq!(found, want);
    }
}
