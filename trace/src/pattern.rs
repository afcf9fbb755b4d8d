//! Patterns for names, with one syntax wherever a user gives one; `docs/selection.md` describes it.

use crate::SelectionError;
use regex::Regex;
use serde::{Deserialize, Serialize};

/// What an expression begins with that is not a glob.
const REGEX: &str = "regex:";

/// A pattern for names. A glob matches the whole name: `*` stands for any text, `?` for any one character. `regex:EXPR` is a
/// regular expression that matches some part of the name. Both take time in proportion to the name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// The patterns of a comma-separated list; one that begins with `regex:` goes on to the end.
    ///
    /// # Errors
    /// One of them is malformed.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, SelectionError> {
        let mut patterns = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (first, after) = match rest.split_once(',') {
                Some((first, after)) if !rest.starts_with(REGEX) => (first.trim_end(), after),
                _ => (rest, ""),
            };
            if !first.is_empty() {
                patterns.push(first.parse()?);
            }
            rest = after.trim_start();
        }
        Ok(patterns)
    }

    /// Whether names of groups are meant, which begin with `@`.
    pub fn is_of_groups(&self) -> bool {
        self.text.starts_with('@')
    }

    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }

    /// Whether the kernel or device function with this mangled name is meant; `readable` is its demangled name without
    /// parameters. Either may match.
    pub fn matches_function(&self, mangled: &str, readable: &str) -> bool {
        self.matches(readable) || self.matches(mangled)
    }
}

impl std::str::FromStr for Pattern {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let expression = match text.strip_prefix(REGEX) {
            Some(expression) => expression.to_owned(),
            None => {
                let parts = text.split('*').map(|part| {
                    let parts: Vec<_> = part.split('?').map(regex::escape).collect();
                    parts.join(".")
                });
                format!("^(?s:{})$", parts.collect::<Vec<_>>().join(".*"))
            }
        };
        let regex = Regex::new(&expression).map_err(|why| {
            let why = why.to_string();
            let last = why.lines().last().unwrap_or_default();
            SelectionError {
                value: text.to_owned(),
                expected: format!("a glob, or regex: and a regular expression ({last})"),
            }
        })?;
        let text = text.to_owned();
        Ok(Pattern { text, regex })
    }
}

impl TryFrom<String> for Pattern {
    type Error = SelectionError;

    fn try_from(text: String) -> Result<Self, SelectionError> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    fn matches(pattern: &str, name: &str) -> bool {
        pattern.parse::<Pattern>().unwrap().matches(name)
    }

    /// Tries every way to divide the name: exponential, and plainly right.
    fn by_brute_force(glob: &[char], name: &[char]) -> bool {
        match glob {
            [] => name.is_empty(),
            ['*', glob @ ..] => (0..=name.len()).any(|taken| by_brute_force(glob, &name[taken..])),
            [wanted, glob @ ..] => name.split_first().is_some_and(|(found, name)| {
                (*wanted == '?' || wanted == found) && by_brute_force(glob, name)
            }),
        }
    }

    proptest! {
        #[test]
        fn globs_match_what_brute_force_matches(glob in "[ab*?.é\n(]{0,8}", name in "[ab.é\n(]{0,8}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let expected = by_brute_force(&chars(&glob), &chars(&name));
            prop_assert_eq!(matches(&glob, &name), expected);
        }

        #[test]
        fn a_name_matches_itself_with_parts_left_out(name in "[a-z<>:,&+^$|()\\[\\]{}\\\\ ]{0,20}", cut in 0usize..20) {
            let cut = cut.min(name.len());
            let (front, back) = (format!("{}*", &name[..cut]), format!("*{}", &name[cut..]));
            for pattern in [&name, &front, &back] {
                prop_assert!(matches(pattern, &name));
            }
        }
    }

    #[test]
    fn many_stars_take_no_longer() {
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
    fn either_name_of_a_function_may_match() {
        let means = |text: &str| {
            let pattern: Pattern = text.parse().unwrap();
            pattern.matches_function("_Z4stepIfEvPT_", "step<float>")
        };
        assert!(means("step<*>") && means("_Z4step*") && means("regex:^_Z4|bfs"));
        assert!(!means("step"));
    }

    #[test]
    fn lists_are_divided_at_commas_up_to_an_expression() {
        let list = |text| {
            let patterns = Pattern::parse_list(text).unwrap();
            patterns.iter().map(Pattern::to_string).collect::<Vec<_>>()
        };
        assert_eq!(list(" a*, ,b ,"), ["a*", "b"]);
        assert_eq!(list("a,regex:b{1,2},c"), ["a", "regex:b{1,2},c"]);
        assert!(Pattern::parse_list("a,regex:(").is_err());
    }

    #[test]
    fn a_malformed_expression_is_refused_with_its_reason() {
        let error = "regex:(".parse::<Pattern>().unwrap_err().to_string();
        assert!(
            error.starts_with("failed to read \"regex:(\": expected a glob")
                && error.contains("unclosed group"),
            "{error}"
        );
        assert!(serde_json::from_str::<Pattern>("\"regex:(\"").is_err());
    }
}
