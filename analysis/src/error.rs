//! Errors returned by this crate.

use std::path::PathBuf;
use superstep_table::FileError;
use superstep_trace::{LaunchId, StreamId, TraceError};

#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("failed to analyse the capture: {what} is {value}, but the limit is {limit}")]
    TooLarge {
        what: &'static str,
        value: u64,
        limit: u64,
    },
    #[error(
        "failed to analyse the capture: launch {} of stream {} has sums, but launch {} of stream {} has accesses; run the program again, entirely with or entirely without --in-situ",
        sums.1, sums.0, accesses.1, accesses.0
    )]
    Mixed {
        sums: (StreamId, LaunchId),
        accesses: (StreamId, LaunchId),
    },
    #[error(
        "failed to find {what}: the capture has no accesses, only their sums; run the program without --in-situ"
    )]
    NeedsTrace { what: &'static str },
    #[error(
        "failed to store part of the analysis in {}: {source}; free up space there, or allow more memory with --analysis-memory",
        path.display()
    )]
    Spill {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "failed to read part of the analysis: {what}; remove the folder that contains the parts and run the analysis again, with the same version of Superstep on all machines"
    )]
    Part { what: &'static str },
    #[error(transparent)]
    Table(#[from] FileError),
}

pub type Result<T, E = AnalysisError> = std::result::Result<T, E>;
