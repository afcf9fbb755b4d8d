//! Judges of the statements, and the programs they concern.

use super::Program;
use super::partners::{c8, c9, c10, c11, c12};
use super::supersteps::{c13, c14, c15};
use super::volumes::{c1, c2, c3, c4, c5, c6, c7};
use superstep_analysis::metrics::Metrics;

/// Returns whether a statement holds, and the numbers that decide.
pub(super) type Judge = fn(&Six<'_>) -> (bool, String);

/// The figure that in-situ runs lack.
pub(super) const OF_STRIDES: &str = "6.5";

pub(super) struct Six<'a> {
    pub(super) all: [&'a Program<'a>; 6],
    pub(super) hs2d: &'a Metrics,
    pub(super) hs3d: &'a Metrics,
    pub(super) hist: &'a Metrics,
    pub(super) nbody: &'a Metrics,
    pub(super) path: &'a Metrics,
    pub(super) bfs: &'a Metrics,
}

impl<'a> Six<'a> {
    /// Takes the programs in the order of [`super::PROGRAMS`].
    pub(super) fn new(all: [&'a Program<'a>; 6]) -> Self {
        let [hs2d, hs3d, hist, nbody, path, bfs] = all.map(|program| &*program.metrics);
        Self {
            all,
            hs2d,
            hs3d,
            hist,
            nbody,
            path,
            bfs,
        }
    }

    pub(super) fn each(&self, say: impl Fn(&Program<'_>) -> String) -> String {
        let each = self.all.map(|p| format!("{} {}", p.name, say(p)));
        each.join(", ")
    }

    pub(super) fn shares(&self) -> [f64; 6] {
        self.all.map(|program| program.share)
    }
}

/// The judges of statements C1 to C15.
pub(super) const JUDGES: [Judge; 15] = [
    c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15,
];
