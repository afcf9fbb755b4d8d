//! Manifest errors: a problem, its file, line and column, and how to fix it.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_saphyr::{Error as YamlError, Location};

use super::position::position;
use super::validate::Valid;
use crate::failure::{Failure, FailureKind};
use crate::nearest::did_you_mean;

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

fn failure(text: impl Display) -> Failure {
    let message = format!("failed to read manifest {text}");
    Failure::new(FailureKind::Manifest, message)
}

pub(crate) struct Text<'a> {
    pub path: &'a Path,
    pub content: String,
    /// Page that documents the keys.
    pub manual: &'static str,
}

impl<'a> Text<'a> {
    pub fn read(path: &'a Path, manual: &'static str, hint: &str) -> Result<Self> {
        let content = fs::read_to_string(path)
            .map_err(|error| failure(format_args!("{}: {error}; {hint}", path.display())))?;
        Ok(Self {
            path,
            content,
            manual,
        })
    }

    /// Returns a failure with the text `FILE:LINE:COLUMN: problem; how to fix it`, followed by the line in question.
    fn error(&self, place: Location, problem: impl Display, hint: impl Display) -> Failure {
        let mut text = self.path.display().to_string();
        let (line, column) = (place.line(), place.column());
        if line > 0 {
            text.push_str(&format!(":{line}:{column}"));
        }
        text.push_str(&format!(": {problem}; {hint}"));
        let lines = (1..).zip(self.content.lines());
        if let Some((number, excerpt)) = lines.into_iter().find(|(number, _)| *number == line) {
            let (number, excerpt) = (number.to_string(), excerpt.trim_end());
            let (width, pointer) = (number.len(), usize::try_from(column).unwrap_or(1).max(1));
            text.push_str(&format!(
                "\n {number} | {excerpt}\n {:width$} | {:>pointer$}",
                "", "^"
            ));
        }
        failure(text)
    }

    /// Adds the position to a rule's error.
    pub fn check<T>(&self, valid: Valid<T>) -> Result<T> {
        valid.map_err(|mut violation| {
            violation.steps.reverse();
            let place = position(&self.content, &violation.steps);
            self.error(place, violation.problem, violation.hint)
        })
    }

    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let options = serde_saphyr::options! {
            duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
            strict_booleans: true,
        };
        serde_saphyr::from_str_with_options(&self.content, options)
            .map_err(|error| self.yaml_error(&error))
    }

    /// Describes the value at `place`, up to the end of its line.
    fn found(&self, place: Location) -> String {
        let rest = self.content.chars().skip(place.span().offset() as usize);
        let value: String = rest.take_while(|c| !",]}#\n".contains(*c)).collect();
        match value.trim() {
            value if value.is_empty() || value.starts_with(['[', '{', '-']) => {
                "found a value of the wrong kind".to_owned()
            }
            value => format!("found `{value}`"),
        }
    }

    fn yaml_error(&self, error: &YamlError) -> Failure {
        let error = error.without_snippet();
        let place = error.location().unwrap_or(Location::UNKNOWN);
        let manual = self.manual;
        let expected_kind = |kind: &str| format!("expected {kind} (see {manual})");
        let wrong_kind = self.found(place);
        let (problem, hint) = match error {
            YamlError::SerdeUnknownField {
                field, expected, ..
            } => (
                format!(
                    "unknown key `{field}`{}",
                    did_you_mean(field, expected.iter().copied())
                ),
                format!(
                    "expected one of {}: correct the spelling or remove the key",
                    list(expected)
                ),
            ),
            YamlError::SerdeUnknownVariant {
                variant, expected, ..
            } => (
                format!("unknown value `{variant}`"),
                format!("expected one of {}", list(expected)),
            ),
            YamlError::SerdeMissingField { field, .. } => (
                format!("this mapping lacks the key `{field}`"),
                format!("add `{field}:` to it (see {manual})"),
            ),
            YamlError::DuplicateMappingKey { key, .. } => {
                let key = key.as_deref().unwrap_or("?");
                (
                    format!("key `{key}` appears twice in the same mapping"),
                    "remove one of the two".to_owned(),
                )
            }
            YamlError::SerdeInvalidType {
                unexpected,
                expected,
                ..
            }
            | YamlError::SerdeInvalidValue {
                unexpected,
                expected,
                ..
            } => (format!("found {unexpected}"), expected_kind(expected)),
            YamlError::InvalidScalar { ty, .. } => (wrong_kind, expected_kind(plain(ty))),
            YamlError::Unexpected { expected, .. } => (wrong_kind, expected_kind(plain(expected))),
            YamlError::Eof { .. } => (
                "the file is empty".to_owned(),
                format!("write it as shown in {manual}"),
            ),
            other => {
                let text = other.render_with_formatter(&serde_saphyr::UserMessageFormatter);
                (
                    text.lines().next().unwrap_or("").to_owned(),
                    "correct the YAML here".to_owned(),
                )
            }
        };
        self.error(place, problem, hint)
    }
}

/// Translates the names that the YAML reader and Rust use for kinds of values into plain words.
fn plain(expected: &str) -> &str {
    match expected {
        "sequence start" => "a list, such as [one, two]",
        "mapping start" => "a mapping, such as {key: value}",
        "i32" | "u32" | "u64" => "a whole number, such as 1",
        "bool" => "true or false",
        other => other,
    }
}

fn list(names: &[&'static str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
