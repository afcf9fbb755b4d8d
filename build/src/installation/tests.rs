//! Tests for `installation`.

use super::*;

#[test]
fn a_missing_file_is_named_with_a_hint() {
    let installation = Installation {
        binaries: "/nonexistent".into(),
        root: None,
    };
    let text = installation.instrumenter().unwrap_err().to_string();
    assert!(text.contains("superstep-instrument"), "{text}");
    assert!(text.contains("cargo xtask build"), "{text}");
    let error = installation.folder("runtime/cpu/device").unwrap_err();
    assert!(error.to_string().contains(variable::ROOT), "{error}");
}

#[test]
fn a_suite_is_a_name_or_a_folder() {
    let installation = Installation {
        binaries: PathBuf::new(),
        root: Some("/r".into()),
    };
    assert_eq!(installation.suite("thesis"), Path::new("/r/suites/thesis"));
    assert_eq!(installation.suite("./mine"), Path::new("./mine"));
}
