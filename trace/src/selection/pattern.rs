//! Patterns for names, in the same syntax everywhere; see `docs/selection.md`.

use crate::SelectionError;
use regex::Regex;
use serde::{Deserialize, Serialize};

/// Prefix of a regular expression.
const REGEX: &str = "regex:";

/// A pattern for names. A glob matches the whole name: `*` matches any text, and `?` any single character. `regex:EXPR`
/// is a regular expression that matches any part of the name. Matching takes time proportional to the name's length.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Parses a comma-separated list; a pattern that starts with `regex:` extends to the end of the list.
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

    /// Returns whether the pattern matches group names, which start with `@`.
    pub fn matches_groups(&self) -> bool {
        self.text.starts_with('@')
    }

    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }

    /// Returns whether the pattern matches a function's mangled name, or its demangled name without parameters.
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
            let expected = format!("a glob, or regex: followed by a regular expression ({last})");
            SelectionError::new(text, expected)
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
mod tests;
