//! Errors of this library.

use std::path::PathBuf;

use superstep_analysis::AnalysisError;
use superstep_table::FileError;
use superstep_trace::TraceError;

/// What can go wrong between a capture and another tool's file.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    #[error(transparent)]
    File(#[from] FileError),
    /// The capture's events have no times.
    #[error(
        "failed to export the timeline of {}: its events have no times, since it was imported or is old; trace the program again",
        path.display()
    )]
    NoTimes { path: PathBuf },
    /// Accesses were chosen by what the capture does not have.
    #[error("failed to choose accesses: {reason}; the capture has {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Choice { reason: String, known: Vec<String> },
    /// A line of another tool's text is not what that tool writes.
    #[error("failed to read {}:{line}: {reason}", path.display())]
    Line {
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        reason: String,
    },
}

pub type Result<T, E = ExportError> = std::result::Result<T, E>;
