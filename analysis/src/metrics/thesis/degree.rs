//! Figure 6.3: number of CTAs to which a CTA sends bytes, and from which it receives bytes.

use crate::bins::{DEGREE_BINS, bin};
use crate::communication::Transfer;
use crate::error::Result;
use crate::metrics::{Source, share};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use superstep_table::table;

table! {
    /// Entries for one direction in one bin.
    pub struct DegreeRow = "degree": Deserialize {
        direction: String = "out or in";
        bin: u64 ["CTAs"] = "smallest degree in the bin, which extends to the next bin";
        entries: u64 =
            "out: (source kernel, CTA, superstep, receiving kernel); in: (receiving CTA, source superstep)";
        share: f64 = "share of the direction's entries";
    }
}

/// Number of CTAs in one kernel that received bytes from one CTA in one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutDegree {
    /// Position of the source launch.
    pub source_launch: u32,
    pub source_cta: u32,
    pub receiver_kernel: u32,
    /// Number of distinct receiving CTA numbers over all of that kernel's launches.
    pub degree: u64,
}

/// Returns the degree of each (source launch, CTA, receiving kernel), sorted.
pub(in crate::metrics) fn out_degrees(source: &Source<'_>) -> Result<Vec<OutDegree>> {
    let kernels = source.kernels();
    let kernel = |launch: u32| kernels.get(launch as usize).copied().unwrap_or_default();
    let add = |degrees: &mut Vec<OutDegree>, transfers: &[Transfer]| {
        let receivers = transfers
            .iter()
            .map(|t| (kernel(t.receiver_launch), t.receiver_cta));
        let mut receivers: Vec<(u32, u32)> = receivers.collect();
        receivers.sort_unstable();
        receivers.dedup();
        let by_kernel = receivers.chunk_by(|a, b| a.0 == b.0);
        degrees.extend(by_kernel.map(|group| OutDegree {
            source_launch: transfers[0].source_launch,
            source_cta: transfers[0].source_cta,
            receiver_kernel: group[0].0,
            degree: group.len() as u64,
        }));
    };
    (source.communication.transfers).sum(Vec::new, add, |degrees, more| degrees.extend(more))
}

/// Returns the number of distinct source CTAs for each (receiving CTA number, source launch), regardless of the
/// receiving kernel.
pub(in crate::metrics) fn in_degrees(source: &Source<'_>) -> Result<Vec<u64>> {
    // Number of sources by receiving CTA.
    let by_launch = source.communication.transfers.by_launch(
        |sources: &mut FxHashMap<u32, u64>, transfers| {
            let mut receivers: Vec<u32> = transfers.iter().map(|t| t.receiver_cta).collect();
            receivers.sort_unstable();
            receivers.dedup();
            for receiver in receivers {
                *sources.entry(receiver).or_default() += 1;
            }
        },
        |sources, more| {
            for (receiver, count) in more {
                *sources.entry(receiver).or_default() += count;
            }
        },
        |_, sources| sources.into_values().collect(),
    )?;
    let by_launch: Vec<Vec<u64>> = by_launch;
    Ok(by_launch.concat())
}

/// Returns every bin for both directions; `out` is the result of [`out_degrees`].
pub(in crate::metrics) fn rows(source: &Source<'_>, out: &[OutDegree]) -> Result<Vec<DegreeRow>> {
    let mut rows = binned("out", out.iter().map(|entry| entry.degree));
    rows.extend(binned("in", in_degrees(source)?.into_iter()));
    Ok(rows)
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
