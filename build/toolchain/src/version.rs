//! Versions, as printed by the tools themselves.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use std::{fmt, io};

use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Parses the numbers that directly follow `marker` in `text`, such as `22.1.8` after the marker `"version "`.
    pub(crate) fn after(text: &str, marker: &str) -> Option<Version> {
        let mut matches = text.match_indices(marker);
        matches.find_map(|(at, _)| {
            let rest = &text[at + marker.len()..];
            let numbers = rest
                .split(|c: char| !c.is_ascii_digit() && c != '.')
                .next()?;
            let mut numbers = numbers.split('.').map(|number| number.parse().ok());
            Some(Version {
                major: numbers.next()??,
                minor: numbers.next()??,
                patch: numbers.next().flatten().unwrap_or(0),
            })
        })
    }
}

#[derive(Debug, Error)]
#[error("{0}")]
pub struct VersionError(String);

pub(crate) fn version_text(tool: &Path) -> Result<String, VersionError> {
    let output = run_when_free(Command::new(tool).arg("--version"));
    let tool = tool.display();
    let output = output.map_err(|error| VersionError(format!("{tool} cannot be run: {error}")))?;
    if !output.status.success() {
        let why = format!("`{tool} --version` failed with {}", output.status);
        return Err(VersionError(why));
    }
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Runs a command; retries briefly if another process is still writing its executable, as during an installation.
fn run_when_free(command: &mut Command) -> io::Result<Output> {
    for _ in 0..20 {
        match command.output() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
    command.output()
}

pub(crate) fn query(tool: &Path, marker: &str) -> Result<Version, VersionError> {
    let text = version_text(tool)?;
    Version::after(&text, marker).ok_or_else(|| {
        let (tool, first) = (tool.display(), text.lines().next().unwrap_or("nothing"));
        VersionError(format!(
            "`{tool} --version` printed no version, only: {first}"
        ))
    })
}

#[cfg(test)]
mod tests;
