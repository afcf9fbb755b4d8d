//! Figure 6.5: distances between the addresses of a CTA's communicating loads and stores.

use crate::bins::STRIDE_BINS;
use crate::communication::{LaunchStrides, StrideCounts};
use crate::metrics::{Source, share};
use serde::Deserialize;
use superstep_table::table;

table! {
    /// Distances in one bin.
    pub struct StrideRow = "stride": Deserialize {
        access: String = "load or store; an atomic is both";
        bin_bytes: u64 ["bytes"] = "smallest distance in the bin, which extends to the next bin";
        distances: u64 =
            "nonzero differences between adjacent entries of each CTA's sorted addresses in each launch";
        share: f64 = "share of the distances of these accesses";
    }
}

/// Returns every bin for loads, then for stores; none if the analysis has no strides.
pub(in crate::metrics) fn rows(source: &Source<'_>) -> Vec<StrideRow> {
    let strides = &source.communication.strides;
    if strides.is_empty() {
        return Vec::new();
    }
    let mut rows = access_rows("load", strides, |launch| &launch.loads);
    rows.extend(access_rows("store", strides, |launch| &launch.stores));
    rows
}

fn access_rows(
    access: &str,
    strides: &[LaunchStrides],
    counts: impl Fn(&LaunchStrides) -> &StrideCounts,
) -> Vec<StrideRow> {
    let in_bin = |bin: usize| strides.iter().map(|launch| counts(launch)[bin]).sum();
    let all = (0..STRIDE_BINS.len()).map(in_bin).sum();
    (STRIDE_BINS.iter().enumerate())
        .map(|(index, &bin_bytes)| StrideRow {
            access: access.to_owned(),
            bin_bytes,
            distances: in_bin(index),
            share: share(in_bin(index), all),
        })
        .collect()
}
