//! Tests for `strides`.

use super::*;
use crate::communication::spill::file::SpillFolder;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use superstep_trace::Cancellation;

#[test]
fn a_run_takes_24_bytes() {
    assert_eq!(size_of::<Run>(), 24);
}

proptest! {
    #[test]
    fn runs_preserve_the_distances_of_addresses(addresses in prop::collection::vec((0u32..2, 0u64..40, any::<bool>()), 0..60), spill in any::<bool>()) {
        let mut runs = Runs::default();
        let mut sets = [BTreeSet::new(), BTreeSet::new()];
        for &(cta, address, far) in &addresses {
            let address = address + if far { 1 << 20 } else { 0 };
            runs.push(Owner { launch: 3, cta }, address);
            sets[cta as usize].insert(address);
        }
        let mut want = [0; STRIDE_BINS.len()];
        for set in &sets {
            let sorted: Vec<u64> = set.iter().copied().collect();
            for pair in sorted.windows(2) {
                want[bin(&STRIDE_BINS, pair[1] - pair[0]).unwrap()] += 1;
            }
        }
        let folder = Arc::new(SpillFolder::new(std::env::temp_dir()));
        let sorter = Sorter::new("runs", if spill { 100 } else { usize::MAX }, folder, Cancellation::default());
        while !runs.0.is_empty() {
            let rest = runs.0.split_off(runs.0.len().min(3));
            sorter.append(std::mem::take(&mut runs.0)).unwrap();
            runs.0 = rest;
        }
        let mut found = StrideCounts::default();
        distances(sorter, |launch, counts| {
            assert_eq!(launch, 3);
            add(&mut found, counts);
        }).unwrap();
        prop_assert_eq!(found, want);
    }
}
