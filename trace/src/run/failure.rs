//! Failures of one program. The kind determines the exit code and is stored in `run.json`.

use serde::{Deserialize, Serialize};

crate::named! {
    pub enum FailureKind("kind of failure") {
        /// A manifest is malformed or contradicts itself.
        Manifest => "manifest",
        /// A source or input is missing or has the wrong hash.
        Fetch => "fetch",
        /// A tool or a runtime library is missing.
        Tool => "tool",
        /// A compilation stage failed.
        Build => "build",
        /// The program crashed or failed on its own.
        Run => "run",
        /// The program exceeded its memory limit.
        Memory => "memory",
        /// The program did not finish in time.
        Timeout => "timeout",
        /// The program ran, but its output or its trace is wrong.
        Verification => "verification",
        /// A capture cannot be read.
        Capture => "capture",
        /// A capture ends before its program did.
        Incomplete => "incomplete",
        /// The user stopped the run.
        Interrupted => "interrupted",
        /// The command line is wrong.
        Usage => "usage",
        /// Superstep or the machine is at fault (disk full, no permission).
        Internal => "internal",
    }
}

/// A failure with its message: the action that failed, the reason and the fix, in that order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    /// The whole message, which can have multiple lines (such as a compiler's output).
    pub message: String,
}

impl Failure {
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// Creates an internal failure with the message `failed to {what}: {why}`.
    pub fn internal(what: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        Self::new(FailureKind::Internal, format!("failed to {what}: {why}"))
    }

    /// Returns a conversion from an I/O error during `action` on `path`.
    pub fn io<E: std::fmt::Display>(
        action: &str,
        path: &impl AsRef<std::path::Path>,
    ) -> impl FnOnce(E) -> Self {
        move |error| Self::internal(format_args!("{action} {}", path.as_ref().display()), error)
    }
}
