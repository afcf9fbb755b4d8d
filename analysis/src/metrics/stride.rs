//! Figure 6.5: distances between the addresses of a CTA's communicating loads and stores.

use super::{Row, Source, share};
use crate::bins::STRIDE_BINS;
use crate::communication::{LaunchStrides, StrideCounts};
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};

/// Distances in one bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StrideRow {
    /// `load` or `store`.
    pub access: String,
    /// Smallest distance of the bin in bytes; it reaches up to the next one's.
    pub bin_bytes: u64,
    /// Distances in the bin.
    pub distances: u64,
    /// Share of the distances of these accesses, from 0 to 1.
    pub share: f64,
}

impl Row for StrideRow {
    const TABLE: &'static str = "stride";
    const COLUMNS: &'static [Column] = &[
        column("access", "", "load or store; an atomic is both"),
        column(
            "bin_bytes",
            "bytes",
            "smallest distance of the bin, up to the next bin",
        ),
        column(
            "distances",
            "",
            "differences of neighbours among the sorted addresses of each CTA of each launch, without 0",
        ),
        column("share", "", "share of the distances of these accesses"),
    ];
}

/// Loads, then stores, every bin.
#[must_use]
pub fn rows(source: &Source<'_>) -> Vec<StrideRow> {
    let strides = &source.communication.strides;
    let mut rows = of("load", strides, |launch| &launch.loads);
    rows.extend(of("store", strides, |launch| &launch.stores));
    rows
}

fn of(
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
