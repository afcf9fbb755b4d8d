//! Numbers in figures 6.1 to 6.9 of the thesis (Rieber 2017), compared with those from a run of the same size.

mod beside;
mod document;
mod measured;
#[cfg(test)]
mod tests;

pub(crate) use beside::{Agreement, Comparison, beside, by_program, lines, summary};
pub use document::write;
pub(crate) use measured::Reproduction;

use crate::claims::Claim;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use superstep_analysis::bins::{DEGREE_BINS, STRIDE_BINS};
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::RunSummary;

const DATA: &str = include_str!("../../../suites/thesis/published.json");
/// The suite of the thesis's programs, and the size that the thesis used.
pub(crate) const SUITE: &str = "thesis";
pub(crate) const SIZE: &str = "thesis";

/// Figures of the thesis, and the names of our versions.
pub(crate) const FIGURES: [(&str, &str); 9] = [
    ("6.1", "data-volume"),
    ("6.2", "transfer-size"),
    ("6.3", "degree"),
    ("6.4", "bisection"),
    ("6.5", "stride"),
    ("6.6", "density-first"),
    ("6.7", "superstep-volume"),
    ("6.8", "superstep-distance"),
    ("6.9", "connectivity"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Percent,
    Ctas,
}

/// Declares the quantities, one per line, with figure, unit and display name. Labels append a position to the name.
macro_rules! quantities {
    ($($(#[$default:meta])? $name:ident = $figure:literal, $unit:ident, $text:literal;)+) => {
        /// A published quantity, which belongs to one figure.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum Quantity { $($(#[$default])? $name),+ }

        /// The quantities in the order of the variants.
        const QUANTITIES: &[(Quantity, &str, Unit, &str)] =
            &[$((Quantity::$name, $figure, Unit::$unit, $text)),+];
    };
}

quantities! {
    #[default]
    Loaded = "6.1", Bytes, "bytes loaded";
    Stored = "6.1", Bytes, "bytes stored";
    Communicated = "6.1", Bytes, "communicated bytes stored";
    OutDegree = "6.3", Percent, "out-degree";
    InDegree = "6.3", Percent, "in-degree";
    CutX = "6.4", Bytes, "bytes across x, as published";
    CutXShare = "6.4", Percent, "share across x, as published";
    CutY = "6.4", Bytes, "bytes across y, as published";
    CutYShare = "6.4", Percent, "share across y, as published";
    LoadStride = "6.5", Percent, "load stride";
    StoreStride = "6.5", Percent, "store stride";
    SuperstepStores = "6.7", Bytes, "bytes stored, superstep";
    SuperstepLoads = "6.7", Bytes, "bytes received, superstep";
    Distance = "6.8", Bytes, "bytes, launches in between";
    MeanOutDegree = "6.9", Ctas, "mean out-degree, superstep";
}

impl Quantity {
    fn all() -> impl Iterator<Item = Self> {
        QUANTITIES.iter().map(|(quantity, ..)| *quantity)
    }

    pub(crate) fn figure(self) -> &'static str {
        QUANTITIES[self as usize].1
    }

    pub(crate) fn unit(self) -> Unit {
        QUANTITIES[self as usize].2
    }

    fn name(self) -> &'static str {
        QUANTITIES[self as usize].3
    }

    fn is_read_off(self) -> bool {
        matches!(self.figure(), "6.7" | "6.9")
    }

    /// Returns the starts of the bins of a distribution. Every bin has a value, which is 0 if none was published.
    pub(crate) fn bins(self) -> Option<&'static [u64]> {
        match self.figure() {
            "6.3" => Some(&DEGREE_BINS),
            "6.5" => Some(&STRIDE_BINS),
            _ => None,
        }
    }
}

crate::text_column!(Quantity);

#[derive(Deserialize)]
pub(crate) struct Data {
    /// The statements of the thesis, not yet judged.
    pub(crate) statements: Vec<Claim>,
    /// Source of each figure's numbers: the output of a notebook, or a plot.
    sources: BTreeMap<String, String>,
    reasons: Vec<Reason>,
    pub(crate) series: Vec<Series>,
}

/// Values of a quantity, as pairs of position and value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) program: String,
    pub(crate) quantity: Quantity,
    pub(crate) values: Vec<(u64, f64)>,
}

impl Series {
    /// Returns the value at a position, or 0 for an empty bin or a superstep that sent nothing.
    pub(crate) fn value(&self, at: u64) -> f64 {
        let found = self.values.iter().find(|(there, _)| *there == at);
        found.map_or(0.0, |(_, value)| *value)
    }
}

/// Reason for differences between published and measured values of a program.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Reason {
    program: String,
    /// Affected quantities; all if empty.
    quantities: Vec<Quantity>,
    because: String,
    /// SHA-256 of an input; the reason does not apply to runs with this input.
    unless_input: Option<String>,
}

pub(crate) fn data() -> Data {
    serde_json::from_str(DATA).expect("a test reads the file")
}

/// Returns the source of a figure's numbers; `None` if none are published.
pub(crate) fn source(figure: &str) -> Option<String> {
    data().sources.remove(figure)
}

/// Returns whether the run has the thesis's programs at its size.
pub(crate) fn is_published_run(run: &RunSummary) -> bool {
    run.suite == SUITE && run.size == SIZE
}

/// Returns every published value with the measured one; empty if the run has other programs or another size.
pub(crate) fn of_run(run: &RunSummary, measured: &[(String, Metrics)]) -> Vec<Comparison> {
    Reproduction::of(run, measured).map_or_else(Vec::new, |it| beside(&it))
}
