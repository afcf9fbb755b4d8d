//! Statements about figures 6.7 to 6.9: changes between supersteps.

use super::rules::Six;
use crate::figures::numbers::{bytes, percent};
use superstep_analysis::metrics::Metrics;

/// Stores of all launches but the last, and loads of all but the first.
struct Volumes {
    stores: Vec<u64>,
    loads: Vec<u64>,
}

fn volumes(metrics: &Metrics) -> Volumes {
    let rows = metrics.supersteps.iter();
    let stores = rows.clone().rev().skip(1).rev();
    Volumes {
        stores: stores.map(|row| row.stored_bytes).collect(),
        loads: rows.skip(1).map(|row| row.received_bytes).collect(),
    }
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
    let (least, most) = (values.iter().min(), values.iter().max());
    format!("{} to {}", show(least), show(most))
}

pub(super) fn c13(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, _, nbody, path, bfs] = six.all.map(|p| volumes(&p.metrics));
    let repeat = |Volumes { stores, loads }: &Volumes, period| {
        is_periodic(stores, period) && is_periodic(loads, period)
    };
    let alternates = is_periodic(&nbody.stores, 1)
        && is_periodic(&nbody.loads, 2)
        && !is_periodic(&nbody.loads, 1);
    let holds =
        repeat(&hs2d, 1) && repeat(&hs3d, 1) && alternates && !repeat(&bfs, 2) && !repeat(&path, 2);
    let [hs2d, hs3d, nbody, path, bfs] = [hs2d, hs3d, nbody, path, bfs]
        .map(|of| format!("{} and {}", range(&of.stores), range(&of.loads)));
    let numbers = format!(
        "stored and received in a superstep: hs2d {hs2d}, hs3d {hs3d}, nbody {nbody}, path {path}, bfs {bfs}; no pattern means neither constant nor alternating"
    );
    (holds, numbers)
}

pub(super) fn c14(six: &Six<'_>) -> (bool, String) {
    let far = |metrics: &Metrics| {
        let far = metrics.distances.iter().filter(|row| row.distance > 0);
        far.fold(0.0, |sum, row| sum + row.share)
    };
    let mut all = six.all.iter();
    let holds = all.all(|p| (far(&p.metrics) > 0.0) == (p.name == "bfs"));
    let shares = six.each(|p| percent(far(&p.metrics)));
    (holds, format!("bytes over a distance above zero: {shares}"))
}

pub(super) fn c15(six: &Six<'_>) -> (bool, String) {
    // The smallest and largest mean.
    let means = |metrics: &Metrics| {
        let means = || metrics.connectivity.iter().map(|row| row.mean);
        let least = means().fold(f64::INFINITY, f64::min);
        [least, means().fold(0.0, f64::max)]
    };
    // The largest deviation in the first and the second half.
    let halves = |metrics: &Metrics| {
        let deviations = metrics.connectivity.iter().map(|row| row.deviation);
        let half = deviations.len() / 2;
        let first = deviations.clone().take(half).fold(0.0, f64::max);
        [first, deviations.skip(half).fold(0.0, f64::max)]
    };
    let [nbody, hs2d, hs3d] = [six.nbody, six.hs2d, six.hs3d].map(means);
    let [path, bfs] = [six.path, six.bfs].map(halves);
    let hist = six.hist.connectivity.len();
    let same = |[least, most]: [f64; 2]| most - least < 1e-9;
    let grows = |[first, second]: [f64; 2]| second > first;
    let stencils = same(hs2d) && same(hs3d);
    let holds = nbody[1] >= 4.0 * nbody[0] && hist == 1 && grows(path) && grows(bfs) && stencils;
    let [least, most] = nbody;
    let [hs2d, hs3d] = [hs2d, hs3d].map(|[least, most]| format!("{least:.2} to {most:.2}"));
    let [path, bfs] = [path, bfs].map(|[first, second]| format!("{first:.2} and {second:.2}"));
    let numbers = format!(
        "means: nbody {least:.1} to {most:.1}, hs2d {hs2d}, hs3d {hs3d}; values of hist: {hist}; largest deviation in the first and second half: path {path}, bfs {bfs}"
    );
    (holds, numbers)
}
