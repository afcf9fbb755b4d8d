//! Errors from this library.

use std::path::{Path, PathBuf};

/// Errors in captures and tables.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("failed to {action} {}: {source}", path.display())]
    Io {
        /// "write", "create", and so on.
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("failed to read {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "failed to write {}: the disk is full; {kept_bytes} bytes are kept and readable; free some space or choose another folder",
        path.display()
    )]
    DiskFull {
        path: PathBuf,
        /// Length of the file up to its last whole chunk.
        kept_bytes: u64,
    },
    #[error("failed to write {}: an earlier write failed, and nothing has been added since", path.display())]
    WriterStopped { path: PathBuf },
    #[error(
        "failed to write {}: another process is writing its capture there; put {{process}} in the capture's path to give each process its own capture",
        path.display()
    )]
    InUse { path: PathBuf },
    #[error("failed to end the capture: a thread is still writing to it")]
    Busy,
    #[error("failed to open {}: {reason}", path.display())]
    NotACapture {
        path: PathBuf,
        /// The problem, and how to fix it.
        reason: String,
    },
    #[error(
        "failed to open {}: it contains {} captures; name one of them: {}",
        path.display(), captures.len(), captures.join(", ")
    )]
    MultipleCaptures {
        path: PathBuf,
        captures: Vec<String>,
    },
    #[error("failed to encode a part of the capture: {source}")]
    Encode { source: serde_json::Error },
    #[error(
        "failed to read {}: its format version is {version}, and this version of Superstep reads only {}; \
         read it with the version that wrote it, or trace the program again",
        path.display(), crate::FORMAT_VERSION
    )]
    FormatVersion { path: PathBuf, version: u32 },
    #[error("failed to read {} at byte {offset}: {reason}", path.display())]
    Damaged {
        path: PathBuf,
        offset: u64,
        reason: String,
    },
    #[error(
        "failed to read a module table: {reason}; rebuild the program with this version of Superstep"
    )]
    Table { reason: String },
    #[error(
        "failed to read the capture: site {site} is in none of its module tables, because not all modules were \
         registered; rebuild the program and trace it again"
    )]
    UnknownSite { site: crate::SiteId },
    #[error("reading the capture was interrupted")]
    Interrupted,
    #[error("failed to export: {reason}")]
    Export { reason: String },
}

impl TraceError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| TraceError::Io {
            action,
            path,
            source,
        }
    }

    pub(crate) fn damaged(path: &Path, offset: u64, reason: impl Into<String>) -> Self {
        TraceError::Damaged {
            path: path.to_owned(),
            offset,
            reason: reason.into(),
        }
    }

    pub(crate) fn unreadable(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| TraceError::Unreadable { path, source }
    }
}

pub(crate) type Result<T, E = TraceError> = std::result::Result<T, E>;
