//! Statements about figures 6.3 to 6.6: partners, cuts, strides and density.

use super::rules::Six;
use crate::figures::numbers::percent;
use std::collections::{BTreeMap, BTreeSet};
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::degree::DegreeRow;
use superstep_analysis::metrics::density::DensityRow;

fn degrees<'a>(metrics: &'a Metrics, direction: &str) -> impl Iterator<Item = &'a DegreeRow> {
    let rows = metrics.degrees.iter();
    rows.filter(move |row| row.direction == direction)
}

/// Counts the bins with at least 5 % of the entries, in the direction that has more of them.
fn bins_in_use(metrics: &Metrics) -> usize {
    let used = |direction| degrees(metrics, direction).filter(|row| row.share >= 0.05);
    used("out").count().max(used("in").count())
}

fn fullest_bin(metrics: &Metrics) -> f64 {
    let shares = |direction| degrees(metrics, direction).map(|row| row.share);
    let most = |direction| shares(direction).fold(0.0, f64::max);
    most("out").min(most("in"))
}

pub(super) fn c8(six: &Six<'_>) -> (bool, String) {
    let mut all = six.all.iter();
    let holds = all.all(|p| (bins_in_use(&p.metrics) <= 2) == (p.name != "bfs"));
    let steady = fullest_bin(six.path);
    let bins = six.each(|p| bins_in_use(&p.metrics).to_string());
    let numbers = format!(
        "bins with at least 5 % of the entries: {bins}; required: at most 2, except in bfs; fullest bin of path {}, required: 90 %",
        percent(steady)
    );
    (holds && steady >= 0.9, numbers)
}

/// Returns the share of entries with a single partner, in the direction with the smaller share.
fn single_partner(metrics: &Metrics) -> f64 {
    let single = metrics.degrees.iter().filter(|row| row.bin == 1);
    single.map(|row| row.share).fold(1.0, f64::min)
}

pub(super) fn c9(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, hist, nbody, path, bfs] = six.all.map(|p| single_partner(&p.metrics));
    let order = hs2d.max(hs3d).max(hist) < 0.05 && nbody > bfs.max(path) && bfs.min(path) > 0.0;
    let entries = |direction| degrees(six.hist, direction).map(|row| row.entries);
    let (sources, receivers): (u64, u64) = (entries("out").sum(), entries("in").sum());
    let sizes = six.hist.transfer_sizes.iter();
    let transfers: u64 = sizes.map(|row| row.transfers).sum();
    let shares = six.each(|p| percent(single_partner(&p.metrics)));
    let numbers = format!(
        "entries with one partner: {shares}; required: below 5 % in hs2d, hs3d and hist, most in nbody; hist: {transfers} transfers between {sources} and {receivers} CTAs"
    );
    (order && transfers == sources * receivers, numbers)
}

fn cut(metrics: &Metrics, dimension: usize) -> (f64, f64) {
    let row = metrics.bisection.get(dimension);
    row.map_or((0.0, 0.0), |row| (row.share, row.as_published_share))
}

pub(super) fn c10(six: &Six<'_>) -> (bool, String) {
    let flat = |metrics: &Metrics| metrics.bisection.get(2).is_none_or(|z| z.coordinates <= 1);
    let no_z = six.all.iter().all(|p| flat(&p.metrics));
    let ((x, x_published), (y, y_published)) = (cut(six.hs3d, 0), cut(six.hs3d, 1));
    let low = cut(six.path, 0).0 < 0.05;
    let high = [six.bfs, six.hist, six.nbody].map(|metrics| cut(metrics, 0).0);
    let holds = no_z && y > 1.5 * x && low && high.iter().all(|&share| share > 0.3);
    let shares = six.each(|p| percent(cut(&p.metrics, 0).0));
    let z = if no_z { "nowhere" } else { "somewhere" };
    let [x, y, x_published, y_published] = [x, y, x_published, y_published].map(percent);
    let numbers = format!(
        "z in use: {z}; hs3d: y cut {y}, x cut {x} (as published: {y_published} and {x_published}), required: y clearly more than x; x cut: {shares}; required: path below 5 %, bfs, hist and nbody above 30 %"
    );
    (holds, numbers)
}

/// Returns the bins of strides that have at least the share `least` of the distances.
fn stride_bins(metrics: &Metrics, access: &str, least: f64) -> Vec<u64> {
    (metrics.strides.iter())
        .filter(|row| row.access == access && row.share >= least)
        .map(|row| row.bin_bytes)
        .collect()
}

pub(super) fn c11(six: &Six<'_>) -> (bool, String) {
    let hist = stride_bins(six.hist, "load", 0.5);
    let [hs2d, hs3d, bfs] =
        [six.hs2d, six.hs3d, six.bfs].map(|metrics| stride_bins(metrics, "load", 0.01));
    let stencils = hs2d.len().min(hs3d.len());
    let holds = hist.iter().any(|&bin| bin >= 64) && stencils >= 3 && bfs.len() >= 6;
    let numbers = format!(
        "bins of load strides with at least 1 %: hs2d {hs2d:?}, hs3d {hs3d:?}, bfs {bfs:?}; hist with at least 50 %: {hist:?}; required: hist at 64 bytes or more, three or more in the stencils, six or more in bfs"
    );
    (holds, numbers)
}

fn first_map(metrics: &Metrics) -> Vec<&DensityRow> {
    let cells = metrics.density.iter();
    cells.filter(|row| row.map == "first").collect()
}

fn most_receivers(cells: &[&DensityRow]) -> usize {
    let mut counts = BTreeMap::<u64, usize>::new();
    for row in cells {
        *counts.entry(row.source).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

fn mean_count(cells: &[&DensityRow]) -> f64 {
    let sum: u64 = cells.iter().map(|row| row.count).sum();
    sum as f64 / cells.len().max(1) as f64
}

pub(super) fn c12(six: &Six<'_>) -> (bool, String) {
    let maps = six.all.map(|p| first_map(&p.metrics));
    let [hs2d, hs3d, hist, nbody, path, bfs] = &maps;
    let [most_hs2d, most_hs3d, most_path] = [hs2d, hs3d, path].map(|cells| most_receivers(cells));
    let all_pairs = |cells: &[&DensityRow]| {
        let sources: BTreeSet<u64> = cells.iter().map(|row| row.source).collect();
        let receivers: BTreeSet<u64> = cells.iter().map(|row| row.receiver).collect();
        cells.len() == sources.len() * receivers.len()
    };
    let everybody = all_pairs(hist) && all_pairs(nbody);
    let counts = || path.iter().map(|row| row.count);
    let (low, high) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let (same, other): (Vec<&DensityRow>, Vec<&DensityRow>) =
        bfs.iter().partition(|row| row.source == row.receiver);
    let (same, other) = (mean_count(&same), mean_count(&other));
    let holds = [most_hs2d, most_hs3d]
        .iter()
        .all(|most| (1..=8).contains(most))
        && everybody
        && most_path <= 3
        && high >= 2 * low
        && same >= 10.0 * other;
    let pairs = if everybody { "yes" } else { "no" };
    let numbers = format!(
        "most receivers of a CTA among the first 200: hs2d {most_hs2d}, hs3d {most_hs3d}, path {most_path}; hist and nbody all pairs: {pairs}; reads of a pair in path {low} to {high}; in bfs {same:.1} between equal CTA numbers, {other:.1} otherwise"
    );
    (holds, numbers)
}
