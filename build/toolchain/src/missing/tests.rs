//! Tests for lists of missing tools.

use super::*;

fn text(tools: &[(&str, &str)]) -> String {
    let tool = |(name, hint): &(&str, &str)| MissingTool {
        name: name.to_string(),
        why: "not in PATH".to_owned(),
        hint: hint.to_string(),
    };
    Missing {
        tools: tools.iter().map(tool).collect(),
    }
    .to_string()
}

#[test]
fn every_item_is_listed_with_its_hint() {
    let text = text(&[("clang++", "install clang-22"), ("ptxas", "run setup")]);
    assert!(
        text.contains("\n  clang++: not in PATH\n    to fix: install clang-22\n"),
        "{text}"
    );
    assert!(
        text.ends_with("\n  ptxas: not in PATH\n    to fix: run setup"),
        "{text}"
    );
}

#[test]
fn a_hint_shared_by_tools_is_printed_once() {
    let text = text(&[("llc", "install llvm-22"), ("opt", "install llvm-22")]);
    assert_eq!(text.matches("to fix").count(), 1, "{text}");
}
