//! Figure 6.3: how many CTAs a CTA writes for and reads from.

use super::{Row, Source, share};
use crate::bins::{DEGREE_BINS, bin};
use crate::tables::{Column, column};
use serde::{Deserialize, Serialize};

/// Entries of one direction in one bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DegreeRow {
    /// `out` or `in`.
    pub direction: String,
    /// Smallest degree of the bin; it reaches up to the next one's.
    pub bin: u64,
    /// Entries in the bin.
    pub entries: u64,
    /// Share of the direction's entries, from 0 to 1.
    pub share: f64,
}

impl Row for DegreeRow {
    const TABLE: &'static str = "degree";
    const COLUMNS: &'static [Column] = &[
        column("direction", "", "out or in"),
        column(
            "bin",
            "CTAs",
            "smallest degree of the bin, up to the next bin",
        ),
        column(
            "entries",
            "",
            "out: (source kernel, CTA, superstep, receiving kernel); in: (receiving CTA, source superstep)",
        ),
        column("share", "", "share of the direction's entries"),
    ];
}

/// How many CTAs of one kernel received from one CTA of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutDegree {
    /// Position of the source launch.
    pub source_launch: u32,
    /// Linear CTA number of the source.
    pub source_cta: u32,
    /// Number of the receiving kernel.
    pub receiver_kernel: u32,
    /// Distinct CTA numbers that received, over all of that kernel's launches.
    pub degree: u64,
}

/// For each (source launch, CTA, receiving kernel), sorted.
#[must_use]
pub fn out_degrees(source: &Source<'_>) -> Vec<OutDegree> {
    let kernels = source.kernels();
    let mut entries = Vec::new();
    let mut receivers: Vec<(u32, u32)> = Vec::new();
    for transfers in (source.transfers())
        .chunk_by(|a, b| (a.source_launch, a.source_cta) == (b.source_launch, b.source_cta))
    {
        receivers.clear();
        let kernel = |launch: u32| kernels.get(launch as usize).copied().unwrap_or_default();
        receivers.extend(
            transfers
                .iter()
                .map(|t| (kernel(t.receiver_launch), t.receiver_cta)),
        );
        receivers.sort_unstable();
        receivers.dedup();
        entries.extend(
            receivers
                .chunk_by(|a, b| a.0 == b.0)
                .map(|of_kernel| OutDegree {
                    source_launch: transfers[0].source_launch,
                    source_cta: transfers[0].source_cta,
                    receiver_kernel: of_kernel[0].0,
                    degree: of_kernel.len() as u64,
                }),
        );
    }
    entries
}

/// For each (receiving CTA number, source launch) the number of distinct source CTAs; kernels of the receivers are not
/// told apart.
#[must_use]
pub fn in_degrees(source: &Source<'_>) -> Vec<u64> {
    let mut entries = Vec::new();
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for transfers in source
        .transfers()
        .chunk_by(|a, b| a.source_launch == b.source_launch)
    {
        pairs.clear();
        pairs.extend(transfers.iter().map(|t| (t.receiver_cta, t.source_cta)));
        pairs.sort_unstable();
        pairs.dedup();
        entries.extend(
            pairs
                .chunk_by(|a, b| a.0 == b.0)
                .map(|of_cta| of_cta.len() as u64),
        );
    }
    entries
}

/// Both directions, every bin; `out` from [`out_degrees`].
#[must_use]
pub fn rows(source: &Source<'_>, out: &[OutDegree]) -> Vec<DegreeRow> {
    let mut rows = binned("out", out.iter().map(|entry| entry.degree));
    rows.extend(binned("in", in_degrees(source).into_iter()));
    rows
}

fn binned(direction: &str, degrees: impl Iterator<Item = u64>) -> Vec<DegreeRow> {
    let mut counts = [0; DEGREE_BINS.len()];
    for index in degrees.filter_map(|degree| bin(&DEGREE_BINS, degree)) {
        counts[index] += 1;
    }
    let all = counts.iter().sum();
    (DEGREE_BINS.iter().zip(counts))
        .map(|(&bin, entries)| DegreeRow {
            direction: direction.to_owned(),
            bin,
            entries,
            share: share(entries, all),
        })
        .collect()
}
