//! Tests for versions, as printed by tools.

use super::*;

#[test]
fn versions_in_tool_output_are_parsed() {
    let parse = |text, marker| Version::after(text, marker).map(|version| version.to_string());
    assert_eq!(
        parse("Debian clang version 22.1.8 (1~deb12u1)", "version "),
        Some("22.1.8".into())
    );
    assert_eq!(
        parse("Debian LLVM version 22.1.8\n  Optimized", "version "),
        Some("22.1.8".into())
    );
    let ptxas = "ptxas: NVIDIA (R) Ptx optimizing assembler\nrelease 12.9, V12.9.86\n";
    assert_eq!(parse(ptxas, ", V"), Some("12.9.86".into()));
    assert_eq!(parse("release 13.0", "release "), Some("13.0.0".into()));
    assert_eq!(parse("version unknown", "version "), None);
    assert_eq!(
        parse("a version of clang version 9.1", "version "),
        Some("9.1.0".into())
    );
    assert_eq!(parse("version 99999999999.1", "version "), None);
}

#[test]
fn an_absent_tool_is_named() {
    let error = query(Path::new("/nonexistent/clang"), "version ").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("/nonexistent/clang"), "{error}");
}
