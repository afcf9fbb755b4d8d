//! Tests for `suite`.

use std::fs;

use super::*;

#[test]
fn golden_results_are_next_to_the_suites_folder_or_in_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (path, golden) in [
        ("suites/mine", "golden/toys"),
        ("mine", "mine/golden"),
        ("suites", "suites/golden"),
    ] {
        let folder = root.join(path);
        fs::create_dir_all(&folder).unwrap();
        let suite = Suite {
            folder: folder.join("."),
            name: "toys".to_owned(),
            ..Suite::default()
        };
        assert_eq!(golden_folder(&suite), root.join(golden));
    }
}
