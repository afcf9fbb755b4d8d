//! What can go wrong with one program, sorted by who has to act: the kind decides the exit code and is stored in `run.json`.

use serde::{Deserialize, Serialize};

use crate::exit_code;

/// The kind of a failure. Its serialised names are part of `run.json` (`failure.kind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A manifest is malformed or contradicts itself.
    Manifest,
    /// A source or input is missing or has the wrong hash.
    Fetch,
    /// A tool or a runtime library is missing.
    Tool,
    /// A stage of the compilation failed.
    Build,
    /// The program crashed or failed by itself.
    Run,
    /// The program used more memory than it may.
    Memory,
    /// The program did not end in time.
    Timeout,
    /// The program ran, but its output or its trace is wrong.
    Verification,
    /// A capture cannot be read.
    Capture,
    /// A capture ends before its program did.
    Incomplete,
    /// The user stopped the run.
    Interrupted,
    /// The command line asks for something that does not exist.
    Usage,
    /// Superstep is at fault, or the machine (disk full, no permission).
    Internal,
}

impl FailureKind {
    /// The exit code of a command that ends with this failure (see [`exit_code`]).
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Manifest => exit_code::MANIFEST,
            Self::Fetch => exit_code::FETCH,
            Self::Tool => exit_code::TOOL,
            Self::Build => exit_code::BUILD,
            Self::Run | Self::Memory | Self::Timeout => exit_code::RUN,
            Self::Verification => exit_code::VERIFICATION,
            Self::Capture => exit_code::CAPTURE,
            Self::Incomplete => exit_code::CAPTURE_INCOMPLETE,
            Self::Interrupted => exit_code::INTERRUPTED,
            Self::Usage => exit_code::USAGE,
            Self::Internal => exit_code::INTERNAL,
        }
    }

    /// One word for tables and messages, the same as the serialised name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Fetch => "fetch",
            Self::Tool => "tool",
            Self::Build => "build",
            Self::Run => "run",
            Self::Memory => "memory",
            Self::Timeout => "timeout",
            Self::Verification => "verification",
            Self::Capture => "capture",
            Self::Incomplete => "incomplete",
            Self::Interrupted => "interrupted",
            Self::Usage => "usage",
            Self::Internal => "internal",
        }
    }
}

/// A failure with its message: what was tried, why it failed and how to mend it, in that order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub kind: FailureKind,
    /// The whole message; may have several lines (a compiler's output).
    pub message: String,
}

impl Failure {
    /// A failure of `kind` with `message`.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// A failure of the machine or of ours while doing `what` (`failed to {what}: {why}`).
    pub fn internal(what: impl std::fmt::Display, why: impl std::fmt::Display) -> Self {
        Self::new(FailureKind::Internal, format!("failed to {what}: {why}"))
    }

    /// Makes a failure of the machine's error, met while doing `action` to `path`.
    pub fn io<E: std::fmt::Display>(
        action: &str,
        path: &impl AsRef<std::path::Path>,
    ) -> impl FnOnce(E) -> Self {
        move |error| Self::internal(format_args!("{action} {}", path.as_ref().display()), error)
    }
}

/// An error with all its causes on one line (`failed to a: b: c`).
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some libraries repeat their cause in their own message.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::FailureKind;

    #[test]
    fn word_and_serialised_name_are_the_same() {
        for kind in [
            FailureKind::Manifest,
            FailureKind::Fetch,
            FailureKind::Tool,
            FailureKind::Build,
            FailureKind::Run,
            FailureKind::Memory,
            FailureKind::Timeout,
            FailureKind::Verification,
            FailureKind::Capture,
            FailureKind::Incomplete,
            FailureKind::Interrupted,
            FailureKind::Usage,
            FailureKind::Internal,
        ] {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.word()));
        }
    }
}
