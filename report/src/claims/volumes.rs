//! Statements about figures 6.1 and 6.2: volumes and sizes.

use super::Program;
use super::rules::Six;
use crate::figures::numbers::percent;
use std::ops::Range;
use superstep_analysis::metrics::bisection::BisectionRow;
use superstep_analysis::metrics::transfer_size::TransferSizeRow;
use superstep_analysis::metrics::{Metrics, share};

pub(super) fn c1(six: &Six<'_>) -> (bool, String) {
    let shares = six.each(|p| percent(p.share));
    let numbers = format!("share: {shares}; required: at least 30 % each");
    (six.shares().iter().all(|&share| share >= 0.3), numbers)
}

pub(super) fn c2(six: &Six<'_>) -> (bool, String) {
    let ratio = |p: &Program<'_>| p.loaded_bytes as f64 / p.stored_bytes.max(1) as f64;
    let ratios = six.each(|p| format!("{:.1}", ratio(p)));
    let numbers = format!("bytes loaded over bytes stored: {ratios}; required: at least 10 each");
    (six.all.iter().all(|p| ratio(p) >= 10.0), numbers)
}

pub(super) fn c3(six: &Six<'_>) -> (bool, String) {
    let [_, _, hist, nbody, _, _] = six.shares();
    let holds = hist.min(nbody) >= 0.75;
    let [hist, nbody] = [hist, nbody].map(percent);
    let numbers = format!("share: nbody {nbody}, hist {hist}; required: at least 75 %");
    (holds, numbers)
}

pub(super) fn c4(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, hist, nbody, path, bfs] = six.shares();
    let regular = hs2d.min(hs3d).min(hist).min(nbody);
    let holds = path.max(bfs) < regular;
    let [path, bfs, regular] = [path, bfs, regular].map(percent);
    let numbers =
        format!("share: bfs {bfs}, path {path}; the smallest of the other four {regular}");
    (holds, numbers)
}

pub(super) fn c5(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, ..] = six.shares();
    let close = |share: f64| (0.4..=0.6).contains(&share);
    let holds = close(hs2d) && close(hs3d);
    let [hs2d, hs3d] = [hs2d, hs3d].map(percent);
    (
        holds,
        format!("share: hs2d {hs2d}, hs3d {hs3d}; required: 40 to 60 %"),
    )
}

/// Returns the share of transfers whose sizes rank in `places` by frequency.
fn frequent_sizes(metrics: &Metrics, places: Range<usize>) -> f64 {
    let counts = metrics.transfer_sizes.iter().map(|row| row.transfers);
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let those = counts.iter().take(places.end).skip(places.start);
    share(those.sum(), counts.iter().sum())
}

fn three_sizes(metrics: &Metrics) -> f64 {
    frequent_sizes(metrics, 0..3)
}

/// Returns the numbers of sizes below and above the most frequent one, if the sizes on each side are equally frequent.
fn slopes(metrics: &Metrics) -> Option<[usize; 2]> {
    let rows = &metrics.transfer_sizes;
    let most = (0..rows.len()).max_by_key(|&at| rows[at].transfers)?;
    let even = |part: &[TransferSizeRow]| {
        let mut counts: Vec<u64> = part.iter().map(|row| row.transfers).collect();
        counts.sort_unstable();
        // Ignore outliers at both ends.
        let inner = &counts[counts.len() / 10..counts.len() - counts.len() / 10];
        inner.len() >= 5 && inner.last() <= inner.first().map(|low| low * 3 / 2).as_ref()
    };
    let (below, above) = (&rows[..most], &rows[most + 1..]);
    (even(below) && even(above)).then_some([below.len(), above.len()])
}

pub(super) fn c6(six: &Six<'_>) -> (bool, String) {
    let mut others = six.all.iter().filter(|p| p.name != "path");
    let others = others.all(|p| three_sizes(&p.metrics) >= 0.9);
    let slopes = slopes(six.path);
    let shape = match slopes {
        Some([below, above]) => format!(
            "path has {below} about equally frequent sizes below its most frequent one and {above} above"
        ),
        None => {
            "path lacks equally frequent sizes on both sides of its most frequent one".to_owned()
        }
    };
    let shares = six.each(|p| percent(three_sizes(&p.metrics)));
    let few = three_sizes(six.path) < 0.9;
    let numbers = format!(
        "transfers of the three most frequent sizes: {shares}; required: at least 90 %, except in path; {shape}"
    );
    (others && few && slopes.is_some(), numbers)
}

/// Returns the share of the used CTAs at the edge of the grid. Each transfer has two ends, so at most about twice this share
/// of the transfers touches the edge.
fn border(metrics: &Metrics) -> f64 {
    let inner = |row: &BisectionRow| match row.coordinates {
        // A dimension with one coordinate has no edge.
        0..2 => 1.0,
        extent => (extent as f64 - 2.0) / extent as f64,
    };
    1.0 - metrics.bisection.iter().map(inner).product::<f64>()
}

fn second_size(metrics: &Metrics) -> f64 {
    frequent_sizes(metrics, 1..2)
}

pub(super) fn c7(six: &Six<'_>) -> (bool, String) {
    let sizes = |metrics: &Metrics| metrics.transfer_sizes.len();
    let single = sizes(six.hist) == 1 && sizes(six.nbody) == 1;
    let in_steps = |metrics| sizes(metrics) >= 2 && second_size(metrics) <= 2.0 * border(metrics);
    let steps = in_steps(six.hs2d) && in_steps(six.hs3d);
    let step = |metrics: &Metrics| {
        let [second, border] = [second_size(metrics), border(metrics)].map(percent);
        let sizes = sizes(metrics);
        format!(
            "{sizes} sizes, the second most frequent with {second} of the transfers, {border} of the CTAs at the grid's edge"
        )
    };
    let numbers = format!(
        "number of sizes: hist {}, nbody {}, required: 1; hs2d: {}; hs3d: {}; required: the second's share at most twice the edge's",
        sizes(six.hist),
        sizes(six.nbody),
        step(six.hs2d),
        step(six.hs3d)
    );
    (single && steps, numbers)
}
