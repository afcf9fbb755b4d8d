//! Tests for `bundle`.

use std::fs;

use super::*;
use superstep_build::failure::FailureKind;

#[test]
fn a_folder_without_a_bundle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let failure = Bundle::open(folder.path()).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Usage);
    assert!(failure.message.contains("bundle.json"));
}

/// Writes a bundle's `bundle.json`, with the benchmark `a`.
pub fn write_info(folder: &Path) -> BundleInfo {
    let info = BundleInfo {
        schema_version: SCHEMA_VERSION,
        tool: "superstep".into(),
        suite: "toys".into(),
        backend: Backend::Cuda,
        gpu_archs: vec![100, 90],
        llvm: "22".into(),
        protocol: Protocol::Thesis,
        benchmarks: vec!["a".into()],
        no_reference: BTreeMap::new(),
        sources: BTreeMap::new(),
    };
    let text = serde_json::to_string(&info).unwrap();
    fs::write(folder.join("bundle.json"), text).unwrap();
    info
}

#[test]
fn a_missing_executable_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let info = write_info(folder.path());
    let bundle = Bundle::open(folder.path()).unwrap();
    assert_eq!(bundle.info, info);
    let failure = bundle.executables("a").unwrap_err();
    assert!(failure.message.contains("programs/a/native"));
}
