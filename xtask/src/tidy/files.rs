//! Rules for a single file: its opening, its length, and what must not stand in it.

use super::Finding;

/// Longest source file, in lines.
const LONGEST: usize = 500;

/// Source files whose length is limited.
const SOURCES: [&str; 7] = [".rs", ".cu", ".cuh", ".c", ".h", ".cpp", ".py"];

/// Marks of unfinished work and of tests that do not run. Put together here, so that this file does not break its own rule.
const UNFINISHED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("#[", "ignore"),
];

/// Starts of paths that exist only on one machine.
const PRIVATE_PATHS: [&str; 3] = [
    concat!("/ho", "me/"),
    concat!("/wo", "rk/"),
    concat!("/tmp/", "w/"),
];

/// The lint that asks for a SAFETY comment must not be switched off again.
const SILENCED: &str = concat!("(clippy::undocumented_", "unsafe_blocks");

pub fn check(name: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut found = |line, what: String| findings.push(Finding::new(name, line, what));
    if name.ends_with(".rs") && !text.starts_with("//!") {
        found(
            1,
            "a module opens with `//!` and says what it is for".into(),
        );
    }
    let lines = text.lines().count();
    if SOURCES.iter().any(|end| name.ends_with(end)) && lines > LONGEST {
        found(
            0,
            format!("{lines} lines, at most {LONGEST}: split it by meaning"),
        );
    }
    // Locked names and checksums, and snapshots of others' output, are not written here.
    if name.ends_with(".lock") {
        return findings;
    }
    for (number, line) in (1..).zip(text.lines()) {
        for mark in UNFINISHED.iter().filter(|mark| contains_word(line, mark)) {
            found(number, format!("`{mark}`: finish it or file an issue"));
        }
        for path in PRIVATE_PATHS
            .iter()
            .filter(|path| contains_path(line, path))
        {
            found(number, format!("`{path}…` is a path of one machine"));
        }
        if name.ends_with(".rs") && line.contains(SILENCED) && !line.contains("deny") {
            found(number, "each unsafe block needs its SAFETY comment".into());
        }
    }
    findings
}

fn contains_word(line: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(part_of_word);
        let ends_in_letter = word.ends_with(|c: char| c.is_alphanumeric());
        let after = line[at + word.len()..]
            .chars()
            .next()
            .is_some_and(part_of_word);
        !(before || ends_in_letter && after)
    })
}

/// The path must begin there: `a/home/b` is a relative path and fine.
fn contains_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-}~>$/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(name: &str, text: &str) -> Vec<String> {
        check(name, text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_module_passes() {
        assert!(rules("a/src/lib.rs", "//! Adds.\nfn add() {}\n").is_empty());
    }

    #[test]
    fn a_module_without_a_header_is_found() {
        assert_eq!(rules("a.rs", "fn add() {}\n").len(), 1);
        assert_eq!(rules("a.sh", "true\n").len(), 0);
    }

    #[test]
    fn a_long_file_is_found() {
        let text = format!("//! Long.\n{}", "\n".repeat(LONGEST));
        let found = "a.rs: 501 lines, at most 500: split it by meaning";
        assert_eq!(rules("a.rs", &text), [found]);
        assert_eq!(rules("data.csv", &text).len(), 0);
    }

    #[test]
    fn unfinished_work_is_found_as_a_word() {
        for mark in UNFINISHED {
            assert_eq!(rules("a.md", &format!("x {mark} y")).len(), 1, "{mark}");
        }
        assert!(rules("a.md", concat!("MASTO", "DON and TO", "DOS")).is_empty());
    }

    #[test]
    fn private_paths_are_found_and_relative_ones_are_not() {
        for path in PRIVATE_PATHS {
            assert_eq!(rules("a.md", &format!("see {path}x")).len(), 1, "{path}");
            assert_eq!(rules("a.md", &format!("see out{path}x")).len(), 0, "{path}");
        }
    }

    #[test]
    fn a_silenced_lint_is_found() {
        for (level, count) in [("allow", 1), ("deny", 0)] {
            let text = format!("//! A.\n#![{level}{SILENCED})]\n");
            assert_eq!(rules("a.rs", &text).len(), count, "{level}");
        }
    }
}
