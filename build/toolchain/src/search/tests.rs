//! Tests for `search`, and a fake tool for the tests of other modules.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

impl Search {
    pub(crate) fn nowhere() -> Search {
        Search {
            purpose: Purpose::Build,
            variables: BTreeMap::new(),
            llvm_prefixes: Vec::new(),
            cuda_roots: Vec::new(),
        }
    }

    pub(crate) fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Search {
        self.variables.insert(name.into(), value.into());
        self
    }
}

/// Writes an executable that prints `text`, whatever its arguments.
pub(crate) fn fake_tool(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\ncat <<'TEXT'\n{text}\nTEXT\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let search = Search::nowhere().with_variable("CUDA_PATH", "");
    assert_eq!(search.path("CUDA_PATH"), None);
}

#[test]
fn the_first_folder_in_path_that_contains_the_tool_wins() {
    let dir = tempfile::tempdir().unwrap();
    let (empty, full) = (dir.path().join("empty"), dir.path().join("full"));
    std::fs::create_dir_all(&empty).unwrap();
    fake_tool(&full.join("tool"), "");
    let path = std::env::join_paths([&empty, &full]).unwrap();
    let search = Search::nowhere().with_variable("PATH", path);
    assert_eq!(search.in_path("tool"), Some(full.join("tool")));
    assert_eq!(search.in_path("other"), None);
}
