//! Failures of one program, and errors on one line.

pub use superstep_trace::{Failure, FailureKind};

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
