//! Rules that judge statements C1 to C15, grouped by the thesis's figures.

use super::Program;
use crate::figures::maps;
use crate::figures::numbers::{bytes, percent};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use superstep_analysis::metrics::bisection::BisectionRow;
use superstep_analysis::metrics::degree::DegreeRow;
use superstep_analysis::metrics::density::DensityRow;
use superstep_analysis::metrics::transfer_size::TransferSizeRow;
use superstep_analysis::metrics::{Metrics, share};

/// A rule, which returns whether a statement holds, and the numbers that decide it.
pub(super) type Judge = fn(&Six<'_>) -> (bool, String);

/// Figure about strides, which in-situ runs do not measure.
pub(super) const STRIDES_FIGURE: &str = "6.5";

/// The programs in the order of [`super::PROGRAMS`].
pub(super) type Six<'a> = [&'a Program<'a>; 6];

fn metrics<'a>(six: &Six<'a>) -> [&'a Metrics; 6] {
    six.map(|program| &*program.metrics)
}

fn shares(six: &Six<'_>) -> [f64; 6] {
    six.map(|program| program.share)
}

fn per_program(six: &Six<'_>, show: impl Fn(&Program<'_>) -> String) -> String {
    let texts = six.map(|p| format!("{} {}", p.name, show(p)));
    texts.join(", ")
}

pub(super) const JUDGES: [Judge; 15] = [
    c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15,
];

// Figures 6.1 and 6.2: volumes and sizes.

fn c1(six: &Six<'_>) -> (bool, String) {
    let shares = per_program(six, |p| percent(p.share));
    let numbers = format!("share: {shares}; required: at least 30 % each");
    (six.iter().all(|p| p.share >= 0.3), numbers)
}

fn c2(six: &Six<'_>) -> (bool, String) {
    let ratio = |p: &Program<'_>| p.loaded_bytes as f64 / p.stored_bytes.max(1) as f64;
    let ratios = per_program(six, |p| format!("{:.1}", ratio(p)));
    let numbers = format!("bytes loaded per byte stored: {ratios}; required: at least 10 each");
    (six.iter().all(|p| ratio(p) >= 10.0), numbers)
}

fn c3(six: &Six<'_>) -> (bool, String) {
    let [_, _, hist, nbody, _, _] = shares(six);
    let holds = hist.min(nbody) >= 0.75;
    let [hist, nbody] = [hist, nbody].map(percent);
    let numbers = format!("share: nbody {nbody}, hist {hist}; required: at least 75 %");
    (holds, numbers)
}

fn c4(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, hist, nbody, path, bfs] = shares(six);
    let regular = hs2d.min(hs3d).min(hist).min(nbody);
    let holds = path.max(bfs) < regular;
    let [path, bfs, regular] = [path, bfs, regular].map(percent);
    let numbers = format!("share: bfs {bfs}, path {path}; smallest of the other four: {regular}");
    (holds, numbers)
}

fn c5(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, ..] = shares(six);
    let close = |share: f64| (0.4..=0.6).contains(&share);
    let holds = close(hs2d) && close(hs3d);
    let [hs2d, hs3d] = [hs2d, hs3d].map(percent);
    let numbers = format!("share: hs2d {hs2d}, hs3d {hs3d}; required: 40 to 60 %");
    (holds, numbers)
}

/// Returns the share of transfers whose sizes rank within `ranks` by frequency.
fn frequent_sizes(metrics: &Metrics, ranks: Range<usize>) -> f64 {
    let counts = metrics.transfer_sizes.iter().map(|row| row.transfers);
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let ranked = counts.iter().take(ranks.end).skip(ranks.start);
    share(ranked.sum(), counts.iter().sum())
}

/// Counts the sizes below and above the most frequent one, if the sizes on each side are about equally frequent.
fn slopes(metrics: &Metrics) -> Option<[usize; 2]> {
    let rows = &metrics.transfer_sizes;
    let peak = (0..rows.len()).max_by_key(|&index| rows[index].transfers)?;
    let even = |part: &[TransferSizeRow]| {
        let mut counts: Vec<u64> = part.iter().map(|row| row.transfers).collect();
        counts.sort_unstable();
        // Ignore outliers at both ends.
        let inner = &counts[counts.len() / 10..counts.len() - counts.len() / 10];
        inner.len() >= 5 && inner.last() <= inner.first().map(|low| low * 3 / 2).as_ref()
    };
    let (below, above) = (&rows[..peak], &rows[peak + 1..]);
    (even(below) && even(above)).then_some([below.len(), above.len()])
}

fn c6(six: &Six<'_>) -> (bool, String) {
    let [.., path, _] = metrics(six);
    let mut others = six.iter().filter(|p| p.name != "path");
    let others = others.all(|p| frequent_sizes(&p.metrics, 0..3) >= 0.9);
    let slopes = slopes(path);
    let shape = match slopes {
        Some([below, above]) => format!(
            "path has {below} sizes below and {above} sizes above its most frequent one, about equally frequent on each side"
        ),
        None => {
            "path lacks equally frequent sizes on both sides of its most frequent one".to_owned()
        }
    };
    let shares = per_program(six, |p| percent(frequent_sizes(&p.metrics, 0..3)));
    let few = frequent_sizes(path, 0..3) < 0.9;
    let numbers = format!(
        "transfers of the three most frequent sizes: {shares}; required: at least 90 %, except in path; {shape}"
    );
    (others && few && slopes.is_some(), numbers)
}

/// Returns the share of used CTAs that are at the edge of the grid. Each transfer has two ends, so the share of
/// transfers that involve the edge is at most about twice this share.
fn border(metrics: &Metrics) -> f64 {
    let inner = |row: &BisectionRow| match row.coordinates {
        // A dimension with one coordinate has no edge.
        0..2 => 1.0,
        extent => (extent as f64 - 2.0) / extent as f64,
    };
    1.0 - metrics.bisection.iter().map(inner).product::<f64>()
}

fn c7(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, hist, nbody, ..] = metrics(six);
    let sizes = |metrics: &Metrics| metrics.transfer_sizes.len();
    let single = sizes(hist) == 1 && sizes(nbody) == 1;
    let second = |metrics: &Metrics| frequent_sizes(metrics, 1..2);
    let in_steps = |metrics| sizes(metrics) >= 2 && second(metrics) <= 2.0 * border(metrics);
    let steps = in_steps(hs2d) && in_steps(hs3d);
    let step = |metrics: &Metrics| {
        let [second, border] = [second(metrics), border(metrics)].map(percent);
        let sizes = sizes(metrics);
        format!(
            "{sizes} sizes, {second} of the transfers have the second most frequent size, {border} of the CTAs are at the grid's edge"
        )
    };
    let numbers = format!(
        "number of sizes: hist {}, nbody {}, required: 1; hs2d: {}; hs3d: {}; required: the first share is at most twice the second",
        sizes(hist),
        sizes(nbody),
        step(hs2d),
        step(hs3d)
    );
    (single && steps, numbers)
}

// Figures 6.3 to 6.6: partners, cuts, strides and density.

fn degrees<'a>(metrics: &'a Metrics, direction: &str) -> impl Iterator<Item = &'a DegreeRow> {
    let rows = metrics.degrees.iter();
    rows.filter(move |row| row.direction == direction)
}

/// Counts the bins with at least 5 % of the entries, in the direction that has more such bins.
fn bins_in_use(metrics: &Metrics) -> usize {
    let used = |direction| degrees(metrics, direction).filter(|row| row.share >= 0.05);
    used("out").count().max(used("in").count())
}

fn fullest_bin(metrics: &Metrics) -> f64 {
    let shares = |direction| degrees(metrics, direction).map(|row| row.share);
    let fullest = |direction| shares(direction).fold(0.0, f64::max);
    fullest("out").min(fullest("in"))
}

fn c8(six: &Six<'_>) -> (bool, String) {
    let [.., path, _] = metrics(six);
    let mut all = six.iter();
    let holds = all.all(|p| (bins_in_use(&p.metrics) <= 2) == (p.name != "bfs"));
    let steady = fullest_bin(path);
    let bins = per_program(six, |p| bins_in_use(&p.metrics).to_string());
    let numbers = format!(
        "bins with at least 5 % of the entries: {bins}; required: at most 2, except in bfs; fullest bin of path: {}; required: at least 90 %",
        percent(steady)
    );
    (holds && steady >= 0.9, numbers)
}

/// Returns the share of entries with a single partner, in the direction with the smaller share.
fn single_partner(metrics: &Metrics) -> f64 {
    let single = metrics.degrees.iter().filter(|row| row.bin == 1);
    single.map(|row| row.share).fold(1.0, f64::min)
}

fn c9(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, hist, nbody, path, bfs] = six.map(|p| single_partner(&p.metrics));
    let order = hs2d.max(hs3d).max(hist) < 0.05 && nbody > bfs.max(path) && bfs.min(path) > 0.0;
    let [_, _, hist, ..] = metrics(six);
    let entries = |direction| degrees(hist, direction).map(|row| row.entries);
    let (sources, receivers): (u64, u64) = (entries("out").sum(), entries("in").sum());
    let sizes = hist.transfer_sizes.iter();
    let transfers: u64 = sizes.map(|row| row.transfers).sum();
    let shares = per_program(six, |p| percent(single_partner(&p.metrics)));
    let numbers = format!(
        "entries with one partner: {shares}; required: below 5 % in hs2d, hs3d and hist, highest in nbody; hist: {transfers} transfers between {sources} and {receivers} CTAs"
    );
    (order && transfers == sources * receivers, numbers)
}

fn cut(metrics: &Metrics, dimension: usize) -> (f64, f64) {
    let row = metrics.bisection.get(dimension);
    row.map_or((0.0, 0.0), |row| (row.share, row.as_published_share))
}

fn c10(six: &Six<'_>) -> (bool, String) {
    let [_, hs3d, hist, nbody, path, bfs] = metrics(six);
    let flat = |metrics: &Metrics| metrics.bisection.get(2).is_none_or(|z| z.coordinates <= 1);
    let no_z = six.iter().all(|p| flat(&p.metrics));
    let ((x, x_published), (y, y_published)) = (cut(hs3d, 0), cut(hs3d, 1));
    let low = cut(path, 0).0 < 0.05;
    let high = [bfs, hist, nbody].map(|metrics| cut(metrics, 0).0);
    let holds = no_z && y > 1.5 * x && low && high.iter().all(|&share| share > 0.3);
    let shares = per_program(six, |p| percent(cut(&p.metrics, 0).0));
    let z = if no_z { "nowhere" } else { "somewhere" };
    let [x, y, x_published, y_published] = [x, y, x_published, y_published].map(percent);
    let numbers = format!(
        "z in use: {z}; hs3d: y cut {y}, x cut {x} (as published: {y_published} and {x_published}), required: y clearly larger than x; x cut: {shares}; required: path below 5 %, bfs, hist and nbody above 30 %"
    );
    (holds, numbers)
}

fn stride_bins(metrics: &Metrics, access: &str, min_share: f64) -> Vec<u64> {
    (metrics.strides.iter())
        .filter(|row| row.access == access && row.share >= min_share)
        .map(|row| row.bin_bytes)
        .collect()
}

fn c11(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, hist, _, _, bfs] = metrics(six);
    let hist = stride_bins(hist, "load", 0.5);
    let [hs2d, hs3d, bfs] = [hs2d, hs3d, bfs].map(|metrics| stride_bins(metrics, "load", 0.01));
    let stencils = hs2d.len().min(hs3d.len());
    let holds = hist.iter().any(|&bin| bin >= 64) && stencils >= 3 && bfs.len() >= 6;
    let numbers = format!(
        "bins of load strides with at least 1 %: hs2d {hs2d:?}, hs3d {hs3d:?}, bfs {bfs:?}; hist with at least 50 %: {hist:?}; required: hist at 64 bytes or more, three or more in the stencils, six or more in bfs"
    );
    (holds, numbers)
}

fn max_receivers(cells: &[&DensityRow]) -> usize {
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

fn c12(six: &Six<'_>) -> (bool, String) {
    let maps = six.map(|p| maps::cells(&p.metrics, maps::FIRST));
    let [hs2d, hs3d, hist, nbody, path, bfs] = &maps;
    let [max_hs2d, max_hs3d, max_path] = [hs2d, hs3d, path].map(|cells| max_receivers(cells));
    let all_pairs = |cells: &[&DensityRow]| {
        let sources: BTreeSet<u64> = cells.iter().map(|row| row.source).collect();
        let receivers: BTreeSet<u64> = cells.iter().map(|row| row.receiver).collect();
        cells.len() == sources.len() * receivers.len()
    };
    let all_to_all = all_pairs(hist) && all_pairs(nbody);
    let counts = || path.iter().map(|row| row.count);
    let (low, high) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let (equal, other): (Vec<&DensityRow>, Vec<&DensityRow>) =
        bfs.iter().partition(|row| row.source == row.receiver);
    let (equal, other) = (mean_count(&equal), mean_count(&other));
    let few = |receivers| (1..=8).contains(&receivers);
    let holds = few(max_hs2d)
        && few(max_hs3d)
        && all_to_all
        && max_path <= 3
        && high >= 2 * low
        && equal >= 10.0 * other;
    let pairs = if all_to_all { "yes" } else { "no" };
    let numbers = format!(
        "maximum number of receivers per CTA among the first 200 CTAs: hs2d {max_hs2d}, hs3d {max_hs3d}, path {max_path}; all pairs communicate in hist and nbody: {pairs}; reads per pair: path {low} to {high}, bfs {equal:.1} if the CTA numbers are equal and {other:.1} otherwise"
    );
    (holds, numbers)
}

// Figures 6.7 to 6.9: changes between supersteps.

/// Returns the stores of all launches but the last, and the loads of all but the first.
fn volumes(metrics: &Metrics) -> [Vec<u64>; 2] {
    let rows = metrics.supersteps.iter();
    let stores = rows.clone().rev().skip(1).rev();
    let loads = rows.skip(1).map(|row| row.received_bytes);
    [
        stores.map(|row| row.stored_bytes).collect(),
        loads.collect(),
    ]
}

fn is_periodic(values: &[u64], period: usize) -> bool {
    let mut pairs = values.iter().zip(values.iter().skip(period));
    pairs.all(|(a, b)| a == b)
}

fn range(values: &[u64]) -> String {
    let show = |value: Option<&u64>| bytes(value.copied().unwrap_or(0) as f64);
    if is_periodic(values, 1) {
        return show(values.first());
    }
    let (min, max) = (values.iter().min(), values.iter().max());
    format!("{} to {}", show(min), show(max))
}

fn c13(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, _, nbody, path, bfs] = six.map(|p| volumes(&p.metrics));
    let repeat = |all: &[Vec<u64>; 2], period| all.iter().all(|values| is_periodic(values, period));
    let [stores, loads] = &nbody;
    let alternates = is_periodic(stores, 1) && is_periodic(loads, 2) && !is_periodic(loads, 1);
    let holds =
        repeat(&hs2d, 1) && repeat(&hs3d, 1) && alternates && !repeat(&bfs, 2) && !repeat(&path, 2);
    let [hs2d, hs3d, nbody, path, bfs] = [hs2d, hs3d, nbody, path, bfs]
        .map(|[stores, loads]| format!("{} and {}", range(&stores), range(&loads)));
    let numbers = format!(
        "bytes stored and received per superstep: hs2d {hs2d}, hs3d {hs3d}, nbody {nbody}, path {path}, bfs {bfs}; no pattern means neither constant nor alternating"
    );
    (holds, numbers)
}

fn c14(six: &Six<'_>) -> (bool, String) {
    let far = |metrics: &Metrics| {
        let far = metrics.distances.iter().filter(|row| row.distance > 0);
        far.fold(0.0, |sum, row| sum + row.share)
    };
    let mut all = six.iter();
    let holds = all.all(|p| (far(&p.metrics) > 0.0) == (p.name == "bfs"));
    let shares = per_program(six, |p| percent(far(&p.metrics)));
    (holds, format!("bytes at a distance of 1 or more: {shares}"))
}

fn c15(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, hist, nbody, path, bfs] = metrics(six);
    // Smallest and largest means.
    let means = |metrics: &Metrics| {
        let means = || metrics.connectivity.iter().map(|row| row.mean);
        let min = means().fold(f64::INFINITY, f64::min);
        [min, means().fold(0.0, f64::max)]
    };
    // Largest deviations in the first and second halves.
    let halves = |metrics: &Metrics| {
        let deviations = metrics.connectivity.iter().map(|row| row.deviation);
        let half = deviations.len() / 2;
        let first = deviations.clone().take(half).fold(0.0, f64::max);
        [first, deviations.skip(half).fold(0.0, f64::max)]
    };
    let [nbody, hs2d, hs3d] = [nbody, hs2d, hs3d].map(means);
    let [path, bfs] = [path, bfs].map(halves);
    let hist = hist.connectivity.len();
    let is_constant = |[min, max]: [f64; 2]| max - min < 1e-9;
    let grows = |[first, second]: [f64; 2]| second > first;
    let stencils = is_constant(hs2d) && is_constant(hs3d);
    let holds = nbody[1] >= 4.0 * nbody[0] && hist == 1 && grows(path) && grows(bfs) && stencils;
    let [min, max] = nbody;
    let [hs2d, hs3d] = [hs2d, hs3d].map(|[min, max]| format!("{min:.2} to {max:.2}"));
    let [path, bfs] = [path, bfs].map(|[first, second]| format!("{first:.2} and {second:.2}"));
    let numbers = format!(
        "means: nbody {min:.1} to {max:.1}, hs2d {hs2d}, hs3d {hs3d}; values of hist: {hist}; largest deviation in the first and second half: path {path}, bfs {bfs}"
    );
    (holds, numbers)
}
