//! Tests for `exit_code`.

use super::ALL;

#[test]
fn the_documentation_lists_every_code() {
    let page = include_str!("../../../docs/exit-codes.md");
    for (code, meaning) in ALL {
        let row = format!("| {code} | {meaning} |");
        assert!(
            page.contains(&row),
            "docs/exit-codes.md lacks the row `{row}`"
        );
    }
}

#[test]
fn codes_are_unique() {
    let mut codes: Vec<i32> = ALL.iter().map(|(code, _)| *code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), ALL.len());
}
