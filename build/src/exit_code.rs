//! The exit codes of `superstep`, all in one place; `docs/exit-codes.md` says the same in prose and a test compares the two.

pub const OK: i32 = 0;
/// At least one benchmark of a suite failed to build, run or verify; or `compare` found a difference.
pub const BENCHMARK_FAILED: i32 = 1;
/// The command line was wrong (clap's own code).
pub const USAGE: i32 = 2;
/// A manifest is malformed or contradicts itself.
pub const MANIFEST: i32 = 3;
/// A source or an input could not be had, or has the wrong hash.
pub const FETCH: i32 = 4;
/// A tool or a runtime library is missing.
pub const TOOL: i32 = 5;
/// A single program did not build.
pub const BUILD: i32 = 6;
/// A single program ran, but its trace or its output is wrong.
pub const VERIFICATION: i32 = 7;
/// A capture is not one, is damaged, or cannot be read.
pub const CAPTURE: i32 = 8;
/// A capture is sound as far as it goes, but its program never ended properly.
pub const CAPTURE_INCOMPLETE: i32 = 9;
/// A single program failed, crashed, or ran out of time or memory.
pub const RUN: i32 = 10;
/// Superstep itself is at fault.
pub const INTERNAL: i32 = 70;
/// Ctrl-C, as shells report it.
pub const INTERRUPTED: i32 = 130;

/// Every code with its name and meaning, as `docs/exit-codes.md` lists them.
pub const ALL: &[(i32, &str)] = &[
    (OK, "ok"),
    (
        BENCHMARK_FAILED,
        "a benchmark failed, or `compare` found a difference",
    ),
    (USAGE, "the command line is wrong"),
    (MANIFEST, "a manifest is invalid"),
    (
        FETCH,
        "a source or an input could not be fetched, or has the wrong hash",
    ),
    (TOOL, "a tool or a runtime library is missing"),
    (
        BUILD,
        "the program does not build (`superstep run`, `explain`)",
    ),
    (
        VERIFICATION,
        "the verification failed (`superstep run`, `verify`)",
    ),
    (CAPTURE, "a capture is unreadable or damaged"),
    (CAPTURE_INCOMPLETE, "a capture is incomplete"),
    (
        RUN,
        "the program failed, crashed or timed out (`superstep run`)",
    ),
    (INTERNAL, "an internal error"),
    (INTERRUPTED, "interrupted"),
];

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn the_documentation_lists_every_code() {
        let page = include_str!("../../docs/exit-codes.md");
        for (code, meaning) in ALL {
            let row = format!("| {code} | {meaning} |");
            assert!(
                page.contains(&row),
                "docs/exit-codes.md lacks the row `{row}`"
            );
        }
    }

    #[test]
    fn no_code_has_two_meanings() {
        let mut codes: Vec<i32> = ALL.iter().map(|(code, _)| *code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ALL.len());
    }
}
