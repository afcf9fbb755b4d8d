//! Tests for `install`.

use super::*;

#[test]
fn an_unusable_named_folder_is_an_error_and_nothing_is_installed() {
    let search = Search::nowhere().with_variable("SUPERSTEP_LLVM", "/nonexistent");
    for act in [install, fetch] {
        let error = act(&search, &mut |step| panic!("must not start: {step}")).unwrap_err();
        assert!(matches!(&error, InstallError::Missing(_)), "{error}");
        assert!(
            error.to_string().contains("/nonexistent/bin/clang++"),
            "{error}"
        );
    }
}
