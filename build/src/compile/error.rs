//! Build errors.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, FailureKind, IoError};

pub(crate) type Result<T, E = BuildError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(
        "failed to build {subject}: {stage} {status}\n  command: {command}\n{}",
        indent(output)
    )]
    Command {
        subject: String,
        stage: &'static str,
        status: String,
        command: String,
        output: String,
    },
    #[error("{0}; `superstep doctor` says what is missing and how to install it")]
    Tool(IoError),
    #[error("failed to find {what}: {reason}")]
    Installation {
        what: String,
        /// Includes a hint.
        reason: String,
    },
    #[error("{0}; check the path in the manifest")]
    Source(IoError),
    #[error(transparent)]
    Io(IoError),
    #[error("failed to build {subject}: {reason}")]
    Unsupported { subject: String, reason: String },
    #[error("the build was interrupted")]
    Interrupted,
}

impl BuildError {
    /// `reason` includes a hint.
    pub(crate) fn unsupported(subject: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported {
            subject: subject.into(),
            reason: reason.into(),
        }
    }

    pub(crate) fn installation(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Installation {
            what: what.into(),
            reason: reason.into(),
        }
    }

    pub(crate) fn tool(tool: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let at = IoError::at("start", tool);
        move |source| Self::Tool(at(source))
    }

    pub(crate) fn source(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let at = IoError::at("read", path);
        move |source| Self::Source(at(source))
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let at = IoError::at(action, path);
        move |source| Self::Io(at(source))
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let kind = match &error {
            BuildError::Command { .. } | BuildError::Source(_) | BuildError::Unsupported { .. } => {
                FailureKind::Build
            }
            BuildError::Tool(_) | BuildError::Installation { .. } => FailureKind::Tool,
            BuildError::Io(_) => FailureKind::Internal,
            BuildError::Interrupted => FailureKind::Interrupted,
        };
        Failure::new(kind, error.to_string())
    }
}

fn indent(output: &str) -> String {
    const LINES: usize = 30;
    // A compiler's first error is usually the relevant one, so the beginning is kept.
    let mut lines = output.lines();
    let mut text: String = (lines.by_ref().take(LINES))
        .map(|line| format!("  {line}\n"))
        .collect();
    let more = lines.count();
    if more > 0 {
        text.push_str(&format!("  … {more} more lines\n"));
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests;
