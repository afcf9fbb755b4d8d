//! Failure types, and error chains formatted as one line.

use std::io;
use std::path::PathBuf;

pub use superstep_trace::{Failure, FailureKind};

/// Returns from the function with a failure of the given kind: `bail!(Usage, "failed to …", …)`.
#[macro_export]
macro_rules! bail {
    ($kind:ident, $($message:tt)*) => {
        return Err($crate::failure::Failure::new(
            $crate::failure::FailureKind::$kind,
            format!($($message)*),
        ))
    };
}

/// A failed operation on a file or folder.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action} {}: {source}", path.display())]
pub struct IoError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl IoError {
    pub(crate) fn at(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self {
            action,
            path,
            source,
        }
    }
}

pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Some libraries already include the cause in their own message.
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
