//! Tests for `pattern`.

use super::*;
use proptest::prelude::*;
use std::time::{Duration, Instant};

fn matches(pattern: &str, name: &str) -> bool {
    pattern.parse::<Pattern>().unwrap().matches(name)
}

/// Tries every way to split the name: exponential, but obviously correct.
fn brute_force_matches(glob: &[char], name: &[char]) -> bool {
    match glob {
        [] => name.is_empty(),
        ['*', glob @ ..] => (0..=name.len()).any(|taken| brute_force_matches(glob, &name[taken..])),
        [expected, glob @ ..] => name.split_first().is_some_and(|(found, name)| {
            (*expected == '?' || expected == found) && brute_force_matches(glob, name)
        }),
    }
}

proptest! {
    #[test]
    fn globs_agree_with_brute_force(glob in "[ab*?.é\n(]{0,8}", name in "[ab.é\n(]{0,8}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let expected = brute_force_matches(&chars(&glob), &chars(&name));
        prop_assert_eq!(matches(&glob, &name), expected);
    }

    #[test]
    fn name_matches_itself_with_omitted_parts(name in "[a-z<>:,&+^$|()\\[\\]{}\\\\ ]{0,20}", cut in 0usize..20) {
        let cut = cut.min(name.len());
        let (front, back) = (format!("{}*", &name[..cut]), format!("*{}", &name[cut..]));
        for pattern in [&name, &front, &back] {
            prop_assert!(matches(pattern, &name));
        }
    }
}

#[test]
fn many_stars_take_linear_time() {
    let start = Instant::now();
    for stars in [
        "*a".repeat(200),
        "a*?".repeat(200),
        format!("regex:{}b", "(a*)*".repeat(20)),
    ] {
        assert!(!matches(&format!("{stars}b"), &"a".repeat(10_000)));
    }
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn expressions_match_a_part_and_globs_the_whole() {
    assert!(matches("regex:s$", "bfs") && !matches("s$", "bfs") && !matches("bf", "bfs"));
    assert!(matches("step*", "step_2") && matches("*ep*", "step") && !matches("?", ""));
}

#[test]
fn either_name_of_a_function_can_match() {
    let is_match = |text: &str| {
        let pattern: Pattern = text.parse().unwrap();
        pattern.matches_function("_Z4stepIfEvPT_", "step<float>")
    };
    assert!(is_match("step<*>") && is_match("_Z4step*") && is_match("regex:^_Z4|bfs"));
    assert!(!is_match("step"));
}

#[test]
fn lists_are_split_at_commas_up_to_an_expression() {
    let list = |text| {
        let patterns = Pattern::parse_list(text).unwrap();
        patterns.iter().map(Pattern::to_string).collect::<Vec<_>>()
    };
    assert_eq!(list(" a*, ,b ,"), ["a*", "b"]);
    assert_eq!(list("a,regex:b{1,2},c"), ["a", "regex:b{1,2},c"]);
    assert!(Pattern::parse_list("a,regex:(").is_err());
}

#[test]
fn malformed_expression_is_refused_with_its_reason() {
    let error = "regex:(".parse::<Pattern>().unwrap_err().to_string();
    assert!(
        error.starts_with("failed to read \"regex:(\": expected a glob")
            && error.contains("unclosed group"),
        "{error}"
    );
    assert!(serde_json::from_str::<Pattern>("\"regex:(\"").is_err());
}
