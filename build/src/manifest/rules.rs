//! Rules for single values: names, paths, hashes, URLs, regular expressions.

use std::path::{Component, Path, PathBuf};

use regex::Regex;

use super::error::{ManifestError, Text};
use super::model::Sha256;
use super::spans::Located;

/// A checked value, or the first rule that is broken.
pub(super) type Checked<T> = Result<T, ManifestError>;

pub(super) fn regex(text: Text<'_>, pattern: &Located<String>) -> Checked<Regex> {
    Regex::new(&pattern.value).map_err(|error| {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default();
        let last = last.trim_start_matches("error: ");
        text.error(
            pattern.referenced,
            format!("`{}` is not a regular expression: {last}", pattern.value),
            "expected the syntax of the Rust regex crate; write \\ before a special character",
        )
    })
}

pub(super) fn https(text: Text<'_>, url: &Located<String>) -> Checked<()> {
    text.require(
        url.value.starts_with("https://"),
        url.referenced,
        format!("`{}` is not an https URL", url.value),
        "expected https://…",
    )
}

pub(super) fn sha256(text: Text<'_>, hash: &Located<String>) -> Checked<Sha256> {
    Sha256::parse(&hash.value).ok_or_else(|| {
        text.error(
            hash.referenced,
            format!("`{}` is not a SHA-256", hash.value),
            "expected 64 hex digits, as sha256sum prints them",
        )
    })
}

pub(super) fn not_empty(text: Text<'_>, value: Located<String>, key: &str) -> Checked<String> {
    text.require(
        !value.value.trim().is_empty(),
        value.referenced,
        format!("`{key}` is empty"),
        "write a short text",
    )?;
    Ok(value.value)
}

/// Names end up in paths and glob patterns, so they are plain.
pub(super) fn identifier(text: Text<'_>, name: &Located<String>, what: &str) -> Checked<String> {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'+' | b'.');
    let starts_plain = name.value.starts_with(|c: char| c.is_ascii_alphanumeric());
    text.require(
        starts_plain && name.value.bytes().all(plain),
        name.referenced,
        format!("`{}` cannot be the name of a {what}", name.value),
        "expected letters, digits, `-`, `_`, `+` and `.`, beginning with a letter or digit",
    )?;
    Ok(name.value.clone())
}

/// Checks that `base/path` stays inside its root and gives it without `.` and `..`.
pub(super) fn inside(
    text: Text<'_>,
    path: &Located<String>,
    base: &Path,
    root: &str,
) -> Checked<PathBuf> {
    let wrong = |why: &str| {
        text.error(
            path.referenced,
            format!("path `{}` {why}", path.value),
            format!("expected a relative path that stays inside {root}"),
        )
    };
    if path.value.is_empty() {
        return Err(wrong("is empty"));
    }
    if Path::new(&path.value).is_absolute() {
        return Err(wrong("is absolute"));
    }
    normalised(&base.join(&path.value)).ok_or_else(|| wrong(&format!("leaves {root}")))
}

/// Removes `.` components and keeps `..` (the base decides what they mean).
pub(super) fn clean(path: &str) -> PathBuf {
    Path::new(path)
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}

/// The path without `.` and `..`; `None` when it leaves its root or is absolute.
pub(super) fn normalised(path: &Path) -> Option<PathBuf> {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => result.push(name),
            Component::CurDir => {}
            Component::ParentDir if result.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(result)
}
