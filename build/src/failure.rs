//! What can go wrong with one program, sorted by who has to act: the kind decides the exit code and is stored in `run.json`.

use serde::{Deserialize, Serialize};

use crate::exit_code;

/// One kind a line: its word, which is its serialised name too, and the exit code of a command that ends with it.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $word:literal, $code:ident;)*) => {
        /// The kind of a failure. Its serialised names are part of `run.json` (`failure.kind`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum FailureKind {
            $($(#[$doc])* #[serde(rename = $word)] $kind,)*
        }

        impl FailureKind {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$kind),*];

            /// The exit code of a command that ends with this failure (see [`exit_code`]).
            pub fn exit_code(self) -> i32 {
                match self {
                    $(Self::$kind => exit_code::$code,)*
                }
            }

            /// One word for tables and messages, the same as the serialised name.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }
    };
}

kinds! {
    /// A manifest is malformed or contradicts itself.
    Manifest = "manifest", MANIFEST;
    /// A source or input is missing or has the wrong hash.
    Fetch = "fetch", FETCH;
    /// A tool or a runtime library is missing.
    Tool = "tool", TOOL;
    /// A stage of the compilation failed.
    Build = "build", BUILD;
    /// The program crashed or failed by itself.
    Run = "run", RUN;
    /// The program used more memory than it may.
    Memory = "memory", RUN;
    /// The program did not end in time.
    Timeout = "timeout", RUN;
    /// The program ran, but its output or its trace is wrong.
    Verification = "verification", VERIFICATION;
    /// A capture cannot be read.
    Capture = "capture", CAPTURE;
    /// A capture ends before its program did.
    Incomplete = "incomplete", CAPTURE_INCOMPLETE;
    /// The user stopped the run.
    Interrupted = "interrupted", INTERRUPTED;
    /// The command line asks for something that does not exist.
    Usage = "usage", USAGE;
    /// Superstep is at fault, or the machine (disk full, no permission).
    Internal = "internal", INTERNAL;
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

/// Ends the function with a failure of a kind: `bail!(Usage, "failed to …", …)`.
#[macro_export]
macro_rules! bail {
    ($kind:ident, $($message:tt)*) => {
        return Err($crate::failure::Failure::new(
            $crate::failure::FailureKind::$kind,
            format!($($message)*),
        ))
    };
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
        for kind in FailureKind::ALL {
            let json = serde_json::to_string(kind).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.word()));
        }
    }
}
