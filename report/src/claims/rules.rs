//! The statements and the programs that they are about.

use super::Program;
use super::partners::{c8, c9, c10, c11, c12};
use super::supersteps::{c13, c14, c15};
use super::volumes::{c1, c2, c3, c4, c5, c6, c7};
use superstep_analysis::metrics::Metrics;

/// Whether a statement holds, and the numbers that decide.
type Judge = fn(&Six<'_>) -> (bool, String);

pub(super) struct Rule {
    pub(super) figure: &'static str,
    pub(super) statement: &'static str,
    pub(super) judge: Judge,
}

/// The figure whose numbers a run in situ lacks.
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
    /// `all`: in the order of [`super::PROGRAMS`].
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

    /// A text about each program.
    pub(super) fn each(&self, say: impl Fn(&Program<'_>) -> String) -> String {
        let each = self.all.map(|p| format!("{} {}", p.name, say(p)));
        each.join(", ")
    }

    pub(super) fn shares(&self) -> [f64; 6] {
        self.all.map(|program| program.share)
    }
}

pub(super) const RULES: [Rule; 15] = [
    rule(
        "6.1",
        "At least 30 % of the bytes that each application writes are read by another CTA or a later launch",
        c1,
    ),
    rule(
        "6.1",
        "Loads exceed stores by at least an order of magnitude",
        c2,
    ),
    rule(
        "6.1",
        "nbody and hist have a very high share of communication",
        c3,
    ),
    rule(
        "6.1",
        "bfs and path communicate a smaller share than the four regular programs",
        c4,
    ),
    rule("6.1", "hs2d and hs3d communicate close to 50 %", c5),
    rule(
        "6.2",
        "One or a few transfer sizes dominate in every program except path, which shows two linear slopes",
        c6,
    ),
    rule(
        "6.2",
        "hist and nbody have a single transfer size; the steps of hs2d and hs3d come from the borders of the problem",
        c7,
    ),
    rule(
        "6.3",
        "In- and out-degree vary little, except in bfs; path is steady even though it is dynamic",
        c8,
    ),
    rule(
        "6.3",
        "There is almost no point-to-point communication, except in nbody and, to a lesser degree, bfs and path; in hist every CTA of the second kernel reads from every CTA of the first",
        c9,
    ),
    rule(
        "6.4",
        "No program uses the z dimension; a y cut of hs3d is unfavourable; the bisection volume of path is very low, that of bfs, hist and nbody is high",
        c10,
    ),
    rule(
        OF_STRIDES,
        "hist has a large load stride; the stencils show their tile and row strides; bfs is irregular",
        c11,
    ),
    rule(
        "6.6",
        "Stencils communicate with their neighbours, nbody and hist with every CTA, path with few, at varying frequency; bfs has a dense regular part (the same CTA number in its two kernels) and a sparse irregular one",
        c12,
    ),
    rule(
        "6.7",
        "Volume per superstep is constant in the stencils; in nbody, stores are constant and loads alternate between its two kernels; bfs and path follow no pattern",
        c13,
    ),
    rule(
        "6.8",
        "Only bfs communicates over a distance greater than zero",
        c14,
    ),
    rule(
        "6.9",
        "Mean out-degree: nbody fluctuates strongly between its kernels; hist has a single value; path and bfs fluctuate more as they proceed; the stencils do not vary",
        c15,
    ),
];

const fn rule(figure: &'static str, statement: &'static str, judge: Judge) -> Rule {
    Rule {
        figure,
        statement,
        judge,
    }
}
