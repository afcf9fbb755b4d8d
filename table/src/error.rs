//! The error of this library.

use std::path::PathBuf;

/// A table's file could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action} {}: {source}", path.display())]
pub struct TableError {
    /// What was tried.
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Why it failed.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl TableError {
    /// An error at `path`, for `map_err`.
    pub(crate) fn at<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |source| Self {
            action,
            path,
            source: source.into(),
        }
    }
}

/// Result of this library's functions.
pub type Result<T, E = TableError> = std::result::Result<T, E>;
