//! Tests for `test_tools`.

use super::*;

#[test]
fn missing_tools_are_named_before_installation() {
    let list = "# Uses a==b.\nduckdb==9.9.1 \\\n    --hash=sha256:00\npandas==9.9.2 \\\n";
    let text = Tool::Python(list, None).missing().unwrap();
    assert!(
        text.ends_with("test-python-9.9.1-9.9.2: duckdb, pandas"),
        "{text}"
    );
    let program = Tool::Program(&["superstep-no-such-program"], "--version", "a-package");
    assert_eq!(
        program.missing().unwrap(),
        "with apt-get, as root: a-package"
    );
    assert_eq!(Tool::Program(&["true"], "--version", "x").missing(), None);
}
