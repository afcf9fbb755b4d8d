//! Fetch errors.

use std::path::PathBuf;

use crate::failure::{Failure, FailureKind, IoError};
use crate::manifest::Sha256;

pub(crate) type Result<T, E = FetchError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{0}; check that the path exists, and check its permissions and the free space")]
    Io(IoError),
    #[error(
        "failed to find the user's cache folder: HOME is not set; set {} to a folder",
        superstep_toolchain::variable::CACHE
    )]
    NoCacheFolder,
    #[error(transparent)]
    OpenCache(superstep_toolchain::OpenCache),
    #[error("failed to find {}, which is listed in {}; restore the file or correct the manifest", path.display(), manifest.display())]
    MissingInTree { path: PathBuf, manifest: PathBuf },
    #[error(
        "failed to start {tool}: {source}; install {tool}, which is needed to fetch sources and inputs"
    )]
    ToolMissing {
        tool: &'static str,
        source: std::io::Error,
    },
    #[error("failed to {action}: {detail}; {hint}")]
    Git {
        action: String,
        detail: String,
        hint: &'static str,
    },
    #[error(
        "failed to fetch {url}: {detail}; check the network, or pass a local copy with {option}"
    )]
    Unreachable {
        url: String,
        detail: String,
        option: &'static str,
    },
    #[error(
        "failed to accept {origin}: its SHA-256 is {found}, expected {expected}, so it was not used; replace the file or correct `sha256` in the manifest"
    )]
    WrongHash {
        origin: String,
        found: Sha256,
        expected: Sha256,
    },
    #[error(
        "failed to accept {origin}: it is larger than the limit of {limit_bytes} bytes; check the address, or download it yourself and pass it with --data-mirror"
    )]
    TooLong { origin: String, limit_bytes: u64 },
    #[error(
        "failed to read archive {url}: {detail}; check `archive-url` in suite.yaml (the archive was not used)"
    )]
    Archive { url: String, detail: String },
    #[error("failed to generate the input: {0}; correct `generate` in the manifest")]
    Generator(String),
    #[error(
        "failed to fetch {what}: --offline forbids network access; pass a local copy with {option}"
    )]
    Offline { what: String, option: &'static str },
}

impl FetchError {
    pub(crate) fn tool(tool: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::ToolMissing { tool, source }
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        let kind = match &error {
            FetchError::ToolMissing { .. } => FailureKind::Tool,
            FetchError::Io(_) => FailureKind::Internal,
            FetchError::OpenCache(_) => FailureKind::Usage,
            _ => FailureKind::Fetch,
        };
        Failure::new(kind, error.to_string())
    }
}
