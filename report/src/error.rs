//! The error type of this library.

use superstep_analysis::AnalysisError;
use superstep_table::FileError;
use superstep_trace::TraceError;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("failed to draw {figure}: {reason}")]
    Figure {
        figure: &'static str,
        reason: String,
    },
    #[error("failed to draw {figure}: no figure has this name; known figures: {}", known.join(", "))]
    NoSuchFigure {
        figure: String,
        known: Vec<&'static str>,
    },
    /// The figure exists, but its data was not measured.
    #[error("failed to draw {figure}: it shows {shows}")]
    NothingToDraw { figure: String, shows: &'static str },
    #[error(
        "failed to compare a run with the values published in the thesis: {reason}; run all six programs with `superstep suite thesis --size thesis`"
    )]
    Reproduction { reason: String },
}

impl ReportError {
    /// Returns a function that converts an error from the drawing library.
    pub(crate) fn drawing<E: std::fmt::Display>(figure: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Figure {
            figure,
            reason: error.to_string(),
        }
    }
}

pub type Result<T, E = ReportError> = std::result::Result<T, E>;
