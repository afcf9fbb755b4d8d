//! Errors of manifests: one problem, its file, line and column, what was expected and how to fix it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_saphyr::{Error as YamlError, Location};

use super::position::{Step, position};
use super::validate::Broken;
use crate::failure::{Failure, FailureKind};

pub(crate) type Result<T, E = ManifestError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("failed to read manifest {}: {source}; {hint}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
        hint: String,
    },
    #[error("failed to read manifest {0}")]
    Invalid(Box<Invalid>),
}

/// A rule that a manifest breaks. Displays as `FILE:LINE:COLUMN: problem; how to fix it` and the line in question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    pub path: PathBuf,
    pub line: u64,
    /// Column in characters, from 1; 0 when the place is not known.
    pub column: u64,
    pub problem: String,
    pub hint: String,
    pub excerpt: Option<String>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path.display())?;
        if self.line > 0 {
            write!(formatter, ":{}:{}", self.line, self.column)?;
        }
        write!(formatter, ": {}; {}", self.problem, self.hint)?;
        if let Some(excerpt) = &self.excerpt {
            let number = self.line.to_string();
            let pointer = usize::try_from(self.column).unwrap_or(1).max(1);
            write!(
                formatter,
                "\n {number} | {excerpt}\n {:w$} | {:>pointer$}",
                "",
                "^",
                w = number.len()
            )?;
        }
        Ok(())
    }
}

pub(crate) type Located<T> = serde_saphyr::Spanned<T>;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a> {
    pub path: &'a Path,
    pub content: &'a str,
}

impl Text<'_> {
    pub fn error(
        &self,
        place: Location,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> ManifestError {
        let (line, column) = (place.line(), place.column());
        let index = usize::try_from(line).ok();
        let index = index.and_then(|line| line.checked_sub(1));
        let excerpt = index.and_then(|index| self.content.lines().nth(index));
        ManifestError::Invalid(Box::new(Invalid {
            path: self.path.to_owned(),
            line,
            column,
            problem: problem.into(),
            hint: hint.into(),
            excerpt: excerpt.map(|text| text.trim_end().to_owned()),
        }))
    }

    pub(super) fn position(&self, steps: &[Step]) -> Location {
        position(self.content, steps)
    }

    pub(super) fn broken(&self, mut broken: Broken) -> ManifestError {
        broken.steps.reverse();
        let place = self.position(&broken.steps);
        self.error(place, broken.problem, broken.hint)
    }

    pub fn require(
        &self,
        holds: bool,
        place: Location,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Result<()> {
        match holds {
            true => Ok(()),
            false => Err(self.error(place, problem, hint)),
        }
    }

    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        let options = serde_saphyr::options! {
            duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
            strict_booleans: true,
        };
        serde_saphyr::from_str_with_options(self.content, options)
            .map_err(|error| self.yaml_error(&error))
    }

    fn yaml_error(&self, error: &YamlError) -> ManifestError {
        let error = error.without_snippet();
        let place = error.location().unwrap_or(Location::UNKNOWN);
        let expected_kind = |kind: &str| format!("expected {kind} (see docs/manifest.md)");
        let wrong_kind = "found a value of the wrong kind".to_owned();
        let (problem, hint) = match error {
            YamlError::SerdeUnknownField {
                field, expected, ..
            } => (
                format!("unknown key `{field}`"),
                format!(
                    "expected one of {}: correct the spelling or remove it",
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
                format!("add `{field}:` to it (see docs/manifest.md)"),
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
                "write the manifest as docs/manifest.md shows it".to_owned(),
            ),
            other => {
                let text = other.render_with_formatter(&serde_saphyr::UserMessageFormatter);
                (
                    text.lines().next().unwrap_or("").to_owned(),
                    "correct the YAML at this place".to_owned(),
                )
            }
        };
        self.error(place, problem, hint)
    }
}

/// Words for what the YAML reader calls by its own or by Rust's names.
fn plain(expected: &str) -> &str {
    match expected {
        "sequence start" => "a list, such as [one, two]",
        "mapping start" => "a mapping, such as {key: value}",
        "i32" | "u32" | "u64" => "a whole number",
        "bool" => "true or false",
        other => other,
    }
}

fn list(names: &[&'static str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Self {
        Failure::new(FailureKind::Manifest, error.to_string())
    }
}
