//! Programs that some tests need. Where one is missing the test is skipped with a reason, unless
//! `SUPERSTEP_REQUIRE_TOOLS=1` makes that a failure.

use std::path::PathBuf;

/// The first of `names` that is on the `PATH` or is a path itself; `None` after saying why the test is skipped.
pub fn find(names: &[&str]) -> Option<PathBuf> {
    let found = names.iter().find_map(|name| {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    });
    if found.is_none() {
        let required =
            std::env::var_os("SUPERSTEP_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        assert!(
            !required,
            "none of {names:?} is on the PATH, and SUPERSTEP_REQUIRE_TOOLS=1 asks for them"
        );
        eprintln!("skipped: none of {names:?} is on the PATH");
    }
    found
}
