//! The error type of this crate.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
#[error("failed to {action} {}: {source}", path.display())]
pub struct FileError {
    pub action: &'static str,
    pub path: PathBuf,
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl FileError {
    /// Returns a function for `map_err` that creates an error at `path`.
    pub fn at<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
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

pub type Result<T, E = FileError> = std::result::Result<T, E>;
