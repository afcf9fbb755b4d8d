//! Tests for toolkits that are complete, incomplete or too old.

use super::*;
use crate::search::tests::fake_tool;

/// Creates a folder with every file that [`examine`] needs; all but the tools are empty.
pub(crate) fn fake_toolkit(root: &Path, version: &str) {
    fake_tool(&root.join("bin/ptxas"), &format!("release 0.0, V{version}"));
    fake_tool(&root.join("bin/fatbinary"), "");
    for file in [
        "include/cuda_runtime.h",
        "include/curand_mtgp32_kernel.h",
        "nvvm/libdevice/libdevice.10.bc",
        "lib64/libcudart.so.12",
    ] {
        let file = root.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
}

#[test]
fn a_complete_folder_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    fake_toolkit(dir.path(), "12.9.86");
    let parts = examine(dir.path()).unwrap();
    assert_eq!(parts.version.to_string(), "12.9.86");
    assert_eq!(parts.cudart, dir.path().join("lib64/libcudart.so.12"));
}

#[test]
fn one_error_names_all_missing_files() {
    let dir = tempfile::tempdir().unwrap();
    fake_toolkit(dir.path(), "12.9.86");
    std::fs::remove_file(dir.path().join("bin/fatbinary")).unwrap();
    std::fs::remove_file(dir.path().join("lib64/libcudart.so.12")).unwrap();
    let why = examine(dir.path()).unwrap_err().to_string();
    assert!(
        why.ends_with("has no bin/fatbinary, lib64/libcudart.so.12"),
        "{why}"
    );
}

#[test]
fn an_old_toolkit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fake_toolkit(dir.path(), "11.8.89");
    let why = examine(dir.path()).unwrap_err().to_string();
    assert!(why.contains("11.8.89") && why.contains("12.0.0"), "{why}");
}
