//! Errors of this library.

use std::path::PathBuf;
use superstep_analysis::AnalysisError;
use superstep_table::TableError;
use superstep_trace::TraceError;

/// What can go wrong between tables and the documents made from them.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    #[error(transparent)]
    Table(#[from] TableError),
    /// A probe's results cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("failed to {action} {}: {source}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("failed to draw {figure}: {reason}")]
    Figure {
        figure: &'static str,
        reason: String,
    },
}

impl ReportError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

pub type Result<T, E = ReportError> = std::result::Result<T, E>;
