//! Versions as the tools themselves print them.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

/// A version of two or three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    /// Third number; 0 where the tool prints only two.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Reads the numbers that directly follow `marker` in `text`, for example `version 22.1.8` after `"version "`.
    pub(crate) fn after(text: &str, marker: &str) -> Option<Version> {
        text.match_indices(marker)
            .find_map(|(at, _)| Self::leading(&text[at + marker.len()..]))
    }

    fn leading(text: &str) -> Option<Version> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let mut numbers = text[..end]
            .split('.')
            .map(|number| number.parse::<u32>().ok());
        let major = numbers.next()??;
        let minor = numbers.next()??;
        let patch = numbers.next().flatten().unwrap_or(0);
        Some(Version {
            major,
            minor,
            patch,
        })
    }
}

/// Runs `tool --version` and returns what it printed on both streams, or why it could not be run.
pub(crate) fn version_text(tool: &Path) -> Result<String, String> {
    let output = run_when_free(Command::new(tool).arg("--version"))
        .map_err(|error| format!("{} cannot be run: {error}", tool.display()))?;
    if !output.status.success() {
        return Err(format!(
            "`{} --version` ended with {}",
            tool.display(),
            output.status
        ));
    }
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

/// Runs a command; a tool that another process is still writing (an installation going on) gets a moment.
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

/// The version that `tool` prints behind `marker`.
pub(crate) fn ask(tool: &Path, marker: &str) -> Result<Version, String> {
    let text = version_text(tool)?;
    Version::after(&text, marker).ok_or_else(|| {
        let first = text.lines().next().unwrap_or("nothing");
        format!(
            "`{} --version` printed no version but: {first}",
            tool.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_tools_print() {
        let of = |text, marker| Version::after(text, marker).map(|version| version.to_string());
        assert_eq!(
            of("Debian clang version 22.1.8 (1~deb12u1)", "version "),
            Some("22.1.8".into())
        );
        assert_eq!(
            of("Debian LLVM version 22.1.8\n  Optimized", "version "),
            Some("22.1.8".into())
        );
        let ptxas = "ptxas: NVIDIA (R) Ptx optimizing assembler\nrelease 12.9, V12.9.86\n";
        assert_eq!(of(ptxas, ", V"), Some("12.9.86".into()));
        assert_eq!(of("release 13.0", "release "), Some("13.0.0".into()));
        assert_eq!(of("version unknown", "version "), None);
        assert_eq!(
            of("a version of clang version 9.1", "version "),
            Some("9.1.0".into())
        );
        assert_eq!(of("version 99999999999.1", "version "), None);
    }

    #[test]
    fn an_absent_tool_is_named() {
        let error = ask(Path::new("/nonexistent/clang"), "version ").unwrap_err();
        assert!(error.contains("/nonexistent/clang"), "{error}");
    }
}
