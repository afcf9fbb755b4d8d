//! Statements about figures 6.7 to 6.9: what changes from superstep to superstep.

use super::rules::Six;
use crate::figures::numbers::{bytes, percent};
use superstep_analysis::metrics::Metrics;

/// Stores but the last launch's, and loads but the first one's.
fn volumes(metrics: &Metrics) -> (Vec<u64>, Vec<u64>) {
    let rows = &metrics.supersteps;
    let stores = rows
        .iter()
        .take(rows.len().saturating_sub(1))
        .map(|row| row.stored_bytes)
        .collect();
    (
        stores,
        rows.iter().skip(1).map(|row| row.received_bytes).collect(),
    )
}

fn is_periodic(values: &[u64], period: usize) -> bool {
    values
        .iter()
        .zip(values.iter().skip(period))
        .all(|(a, b)| a == b)
}

fn range(values: &[u64]) -> String {
    let show = |value: Option<&u64>| bytes(value.copied().unwrap_or(0) as f64);
    if is_periodic(values, 1) {
        return show(values.first());
    }
    format!(
        "{} to {}",
        show(values.iter().min()),
        show(values.iter().max())
    )
}

pub(super) fn c13(six: &Six<'_>) -> (bool, String) {
    let [hs2d, hs3d, _, nbody, path, bfs] = six.all.map(|p| volumes(p.metrics));
    let constant =
        |volumes: &(Vec<u64>, Vec<u64>)| is_periodic(&volumes.0, 1) && is_periodic(&volumes.1, 1);
    let pattern =
        |volumes: &(Vec<u64>, Vec<u64>)| is_periodic(&volumes.0, 2) && is_periodic(&volumes.1, 2);
    let alternates =
        is_periodic(&nbody.0, 1) && is_periodic(&nbody.1, 2) && !is_periodic(&nbody.1, 1);
    let holds =
        constant(&hs2d) && constant(&hs3d) && alternates && !pattern(&bfs) && !pattern(&path);
    let show =
        |(stores, loads): &(Vec<u64>, Vec<u64>)| format!("{} and {}", range(stores), range(loads));
    (
        holds,
        format!(
            "stored and received in a superstep: hs2d {}, hs3d {}, nbody {}, path {}, bfs {}; no pattern means neither constant nor alternating",
            show(&hs2d),
            show(&hs3d),
            show(&nbody),
            show(&path),
            show(&bfs)
        ),
    )
}

pub(super) fn c14(six: &Six<'_>) -> (bool, String) {
    let far = |metrics: &Metrics| {
        let far = metrics.distances.iter().filter(|row| row.distance > 0);
        far.fold(0.0, |sum, row| sum + row.share)
    };
    let holds = six
        .all
        .iter()
        .all(|p| (far(p.metrics) > 0.0) == (p.name == "bfs"));
    let shares = six.each(|p| percent(far(p.metrics)));
    (holds, format!("bytes over a distance above zero: {shares}"))
}

pub(super) fn c15(six: &Six<'_>) -> (bool, String) {
    let means = |metrics: &Metrics| -> (f64, f64) {
        let means = metrics.connectivity.iter().map(|row| row.mean);
        means.fold((f64::INFINITY, 0.0), |(low, high), mean| {
            (low.min(mean), high.max(mean))
        })
    };
    // Largest deviation of the first and of the second half.
    let halves = |metrics: &Metrics| {
        let rows = &metrics.connectivity;
        let most = |part: &[superstep_analysis::metrics::connectivity::ConnectivityRow]| {
            part.iter().map(|row| row.deviation).fold(0.0, f64::max)
        };
        let (first, second) = rows.split_at(rows.len() / 2);
        (most(first), most(second))
    };
    let (nbody, hs2d, hs3d) = (means(six.nbody), means(six.hs2d), means(six.hs3d));
    let (path, bfs) = (halves(six.path), halves(six.bfs));
    let same = |(low, high): (f64, f64)| high - low < 1e-9;
    let holds = nbody.1 >= 4.0 * nbody.0
        && six.hist.connectivity.len() == 1
        && path.1 > path.0
        && bfs.1 > bfs.0
        && same(hs2d)
        && same(hs3d);
    (
        holds,
        format!(
            "means: nbody {:.1} to {:.1}, hs2d {:.2} to {:.2}, hs3d {:.2} to {:.2}; values of hist: {}; largest deviation in the first and second half: path {:.2} and {:.2}, bfs {:.2} and {:.2}",
            nbody.0,
            nbody.1,
            hs2d.0,
            hs2d.1,
            hs3d.0,
            hs3d.1,
            six.hist.connectivity.len(),
            path.0,
            path.1,
            bfs.0,
            bfs.1
        ),
    )
}
