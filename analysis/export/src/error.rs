//! Errors of this crate.

use std::path::PathBuf;

use superstep_analysis::AnalysisError;
use superstep_table::FileError;
use superstep_trace::TraceError;

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "failed to export the timeline of {}: its events have no times because it was imported; trace the program with Superstep",
        .0.display()
    )]
    NoTimes(PathBuf),
    /// A filter names a launch, kernel or column that the capture lacks.
    #[error("failed to select accesses: {reason}; the capture has {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Choice { reason: String, known: Vec<String> },
    #[error("failed to read accesses: a decoding thread panicked")]
    LostThread,
    /// A line is not in the tool's format.
    #[error("failed to read {}:{line}: {reason}", path.display())]
    Line {
        path: PathBuf,
        line: usize,
        reason: String,
    },
}

pub type Result<T, E = ExportError> = std::result::Result<T, E>;
