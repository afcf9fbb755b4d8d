//! The exit codes of `superstep`; a test compares them with `docs/exit-codes.md`.

use superstep_trace::FailureKind;

/// Declares exit codes, one per line: name, number, and meaning as in `docs/exit-codes.md`.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $meaning:literal;)*) => {
        $($(#[$doc])* pub const $name: i32 = $code;)*

        #[cfg(test)]
        const ALL: &[(i32, &str)] = &[$(($name, $meaning)),*];
    };
}

codes! {
    OK = 0, "ok";
    BENCHMARK_FAILED = 1, "a benchmark failed, or `compare` found a difference";
    /// The code that clap uses.
    USAGE = 2, "the command line is invalid";
    MANIFEST = 3, "a manifest is invalid";
    FETCH = 4, "a source or an input could not be fetched, or has the wrong hash";
    TOOL = 5, "a tool or a runtime library is missing";
    BUILD = 6, "the program does not build (`superstep run`, `explain`)";
    VERIFICATION = 7, "verification failed (`superstep run`, `verify`)";
    CAPTURE = 8, "a capture is unreadable or damaged";
    CAPTURE_INCOMPLETE = 9, "a capture is incomplete";
    RUN = 10, "the program failed, crashed or timed out (`superstep run`)";
    /// Finished steps are kept.
    CLUSTER = 11, "a cluster did not finish the analysis (`superstep analyse --spark`)";
    WARNING = 12, "a check gave a warning, and `--fail-on-warning` was given";
    INTERNAL = 70, "an internal error";
    /// Ctrl-C, as shells report it.
    INTERRUPTED = 130, "interrupted";
}

pub fn of(kind: FailureKind) -> i32 {
    match kind {
        FailureKind::Manifest => MANIFEST,
        FailureKind::Fetch => FETCH,
        FailureKind::Tool => TOOL,
        FailureKind::Build => BUILD,
        FailureKind::Run | FailureKind::Memory | FailureKind::Timeout => RUN,
        FailureKind::Verification => VERIFICATION,
        FailureKind::Capture => CAPTURE,
        FailureKind::Incomplete => CAPTURE_INCOMPLETE,
        FailureKind::Interrupted => INTERRUPTED,
        FailureKind::Usage => USAGE,
        FailureKind::Internal => INTERNAL,
    }
}

#[cfg(test)]
mod tests;
