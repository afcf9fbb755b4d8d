//! The numbers behind figures 6.1 to 6.9 of the thesis (Rieber 2017), and those of a run at the size that it used beside them.

mod beside;
mod document;
mod judged;
mod measured;
#[cfg(test)]
mod tests;

pub(crate) use beside::{Agreement, Beside, Line, beside, lines, summary};
pub use document::write;
pub(crate) use judged::{JUDGED, Published};
pub(crate) use measured::Reproduction;

use serde::{Deserialize, Serialize};
use superstep_analysis::metrics::Metrics;
use superstep_analysis::run_summary::RunSummary;
use superstep_table::Value;
use superstep_table::arrow_array::ArrayRef;
use superstep_table::arrow_schema::DataType;

const DATA: &str = include_str!("../../../suites/thesis/published.json");
/// The suite of the thesis's programs, and the size at which it ran them.
pub(crate) const SUITE: &str = "thesis";
pub(crate) const SIZE: &str = "thesis";

/// Figures of the thesis, what they show, and the name of ours.
pub(crate) const FIGURES: [(&str, &str, &str); 9] = [
    ("6.1", "data volume and communication", "data-volume"),
    ("6.2", "transfer sizes", "transfer-size"),
    ("6.3", "degrees", "degree"),
    ("6.4", "bisection", "bisection"),
    ("6.5", "strides", "stride"),
    ("6.6", "density", "density-first"),
    ("6.7", "volume of each superstep", "superstep-volume"),
    ("6.8", "distance", "superstep-distance"),
    ("6.9", "mean out-degree", "connectivity"),
];

/// Published quantities: each belongs to one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Quantity {
    #[default]
    Loaded,
    Stored,
    Communicated,
    OutDegree,
    InDegree,
    CutX,
    CutXShare,
    CutY,
    CutYShare,
    LoadStride,
    StoreStride,
    SuperstepStores,
    SuperstepLoads,
    Distance,
    MeanOutDegree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Percent,
    Ctas,
}

impl Quantity {
    const ALL: [Self; 15] = [
        Self::Loaded,
        Self::Stored,
        Self::Communicated,
        Self::OutDegree,
        Self::InDegree,
        Self::CutX,
        Self::CutXShare,
        Self::CutY,
        Self::CutYShare,
        Self::LoadStride,
        Self::StoreStride,
        Self::SuperstepStores,
        Self::SuperstepLoads,
        Self::Distance,
        Self::MeanOutDegree,
    ];

    pub(crate) fn figure(self) -> &'static str {
        match self {
            Self::Loaded | Self::Stored | Self::Communicated => "6.1",
            Self::OutDegree | Self::InDegree => "6.3",
            Self::CutX | Self::CutXShare | Self::CutY | Self::CutYShare => "6.4",
            Self::LoadStride | Self::StoreStride => "6.5",
            Self::SuperstepStores | Self::SuperstepLoads => "6.7",
            Self::Distance => "6.8",
            Self::MeanOutDegree => "6.9",
        }
    }

    pub(crate) fn unit(self) -> Unit {
        match self {
            Self::OutDegree | Self::InDegree | Self::CutXShare | Self::CutYShare => Unit::Percent,
            Self::LoadStride | Self::StoreStride => Unit::Percent,
            Self::MeanOutDegree => Unit::Ctas,
            _ => Unit::Bytes,
        }
    }

    /// Whether it was read off a plot.
    fn is_read_off(self) -> bool {
        matches!(self.figure(), "6.7" | "6.9")
    }

    /// Whether it has a value for each bin, 0 where none was published.
    fn is_binned(self) -> bool {
        matches!(self.figure(), "6.3" | "6.5")
    }

    /// For people; its position follows.
    fn as_str(self) -> &'static str {
        match self {
            Self::Loaded => "bytes loaded",
            Self::Stored => "bytes stored",
            Self::Communicated => "communicating bytes stored",
            Self::OutDegree => "out-degree",
            Self::InDegree => "in-degree",
            Self::CutX => "bytes across x, as published",
            Self::CutXShare => "share across x, as published",
            Self::CutY => "bytes across y, as published",
            Self::CutYShare => "share across y, as published",
            Self::LoadStride => "load stride",
            Self::StoreStride => "store stride",
            Self::SuperstepStores => "bytes stored, superstep",
            Self::SuperstepLoads => "bytes received, superstep",
            Self::Distance => "bytes, launches in between",
            Self::MeanOutDegree => "mean out-degree, superstep",
        }
    }
}

impl Value for Quantity {
    const TYPE: DataType = String::TYPE;

    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let words = values.map(|quantity| quantity.as_str().to_owned());
        Value::array(words.collect::<Vec<String>>().iter())
    }
}

#[derive(Deserialize)]
struct Data {
    sources: Vec<Source>,
    reasons: Vec<Reason>,
    series: Vec<Series>,
}

/// Where quantities come from: the output of a notebook, or a plot.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Source {
    notebook: Option<String>,
    read_off: Option<String>,
    quantities: Vec<Quantity>,
}

/// A quantity's values, as (what it is at, value).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) program: String,
    pub(crate) quantity: Quantity,
    pub(crate) values: Vec<(u64, f64)>,
}

impl Series {
    fn value(&self, at: u64) -> Option<f64> {
        let found = self.values.iter().find(|(there, _)| *there == at);
        found.map(|(_, value)| *value)
    }
}

/// Why published values of a program differ from measured ones.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Reason {
    program: String,
    /// All where it names none.
    quantities: Vec<Quantity>,
    because: String,
    /// SHA-256 of an input; with it this is no reason.
    unless_input: Option<String>,
}

fn data() -> Data {
    match serde_json::from_str(DATA) {
        Ok(data) => data,
        // Part of this program; a test reads it.
        Err(error) => unreachable!("published.json: {error}"),
    }
}

/// Where the numbers of a figure come from; `None` where none are published.
pub(crate) fn source(figure: &str) -> Option<String> {
    let sources = data().sources;
    let mut sources = sources
        .iter()
        .filter(|source| source.quantities.iter().any(|it| it.figure() == figure));
    let source = sources.next()?;
    match (&source.notebook, &source.read_off) {
        (Some(notebook), _) => Some(format!("the thesis's notebook {notebook}")),
        (None, Some(plot)) => Some(format!("read off {plot}")),
        (None, None) => None,
    }
}

/// Whether the run is of the thesis's programs.
pub(crate) fn has_programs(run: &RunSummary) -> bool {
    run.suite == SUITE
}

/// Whether the run is of the thesis's programs at the size that it used.
pub(crate) fn fits(run: &RunSummary) -> bool {
    has_programs(run) && run.size == SIZE
}

/// Every published value with the run's; none where the run has other programs or another size.
pub(crate) fn of_run(run: &RunSummary, measured: &[(String, Metrics)]) -> Vec<Beside> {
    Reproduction::of(run, measured).map_or_else(Vec::new, |it| beside(&it))
}
