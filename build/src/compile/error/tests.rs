//! Tests for `error`.

use super::*;

#[test]
fn the_message_contains_the_command_and_its_output() {
    let error = BuildError::Command {
        subject: "toy/a.cu".into(),
        stage: "device IR",
        status: "failed with exit status: 1".into(),
        command: "clang++ a.cu".into(),
        output: "a.cu:3:1: error: unknown type name 'foo'\n".into(),
    };
    let text = error.to_string();
    assert!(text.starts_with(
        "failed to build toy/a.cu: device IR failed with exit status: 1\n  command: clang++ a.cu\n"
    ));
    assert!(
        text.ends_with("  a.cu:3:1: error: unknown type name 'foo'"),
        "{text}"
    );
    assert_eq!(Failure::from(error).kind, FailureKind::Build);
}

#[test]
fn long_output_keeps_its_beginning() {
    let text = indent(&"line\n".repeat(100));
    assert!(text.ends_with("… 70 more lines"), "{text}");
}
