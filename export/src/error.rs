//! Errors of this library.

use std::path::PathBuf;

use superstep_analysis::AnalysisError;
use superstep_table::TableError;
use superstep_trace::TraceError;

/// What can go wrong between a capture and another tool's file.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The capture cannot be read, or not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The capture cannot be analysed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    #[error(transparent)]
    Table(#[from] TableError),
    /// A file could not be written or read.
    #[error("failed to {action} {}: {reason}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        reason: String,
    },
    /// The capture's events have no times.
    #[error(
        "failed to export the timeline of {}: its events have no times, since it was imported or is old; trace the program again",
        path.display()
    )]
    NoTimes { path: PathBuf },
    /// A line of another tool's text is not what that tool writes.
    #[error("failed to read {}:{line}: {reason}", path.display())]
    Line {
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What was expected, and what was found.
        reason: String,
    },
}

impl ExportError {
    /// An error at `path`, to be used with `map_err`.
    pub(crate) fn file<E: std::fmt::Display>(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |error| Self::File {
            action,
            path,
            reason: error.to_string(),
        }
    }
}

/// Result of this library's functions.
pub type Result<T, E = ExportError> = std::result::Result<T, E>;
