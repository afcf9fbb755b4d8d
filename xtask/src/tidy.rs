//! `cargo xtask tidy`: the repository's own rules, which no compiler checks. Also a test, so that `cargo test` keeps them.

mod files;
mod links;
mod members;
mod prose;

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use xshell::{Shell, cmd};

use crate::context::{Context, metadata};

/// A broken rule, with the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Relative to the root.
    file: String,
    /// From 1; 0 for the file as a whole.
    line: usize,
    what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

impl Finding {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding {
            file: file.to_owned(),
            line,
            what: what.into(),
        }
    }
}

pub fn run(context: &Context) -> Result<()> {
    let findings = check(&context.shell, &context.root)?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        number => bail!("the repository is not tidy: {number} finding(s) above"),
    }
}

fn check(shell: &Shell, root: &Path) -> Result<Vec<Finding>> {
    let (mut findings, mut words) = (Vec::new(), prose::Used::new());
    // Also files that are not committed yet, so that a finding comes before the commit.
    let names = cmd!(shell, "git ls-files --cached --others --exclude-standard")
        .quiet()
        .read();
    for name in names
        .context("failed to list the repository's files; tidy needs git")?
        .lines()
    {
        // Deleted but not committed yet, or not text: nothing to read.
        let Ok(text) = std::fs::read_to_string(root.join(name)) else {
            continue;
        };
        findings.extend(files::check(name, &text));
        findings.extend(prose::check(name, &text, &mut words));
        if name.ends_with(".md") {
            findings.extend(links::check(root, name, &text));
        }
    }
    findings.extend(prose::unused(&words));
    findings.extend(members::check(root, &metadata(shell)?)?);
    findings.extend(suites_without_manifest(root)?);
    Ok(findings)
}

/// Every folder of `suites/` is a suite.
fn suites_without_manifest(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let Ok(entries) = std::fs::read_dir(root.join("suites")) else {
        return Ok(findings);
    };
    for entry in entries {
        let path = entry?.path();
        let benchmarks = std::fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some());
        if path.is_dir() && benchmarks && !path.join("suite.yaml").is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let what = "a suite's folder needs a suite.yaml";
            findings.push(Finding::new(&format!("suites/{name}"), 0, what));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let context = Context::new().unwrap();
        let findings = check(&context.shell, &context.root).unwrap();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }

    #[test]
    fn a_suite_without_a_manifest_is_found() {
        let dir = tempfile::tempdir().unwrap();
        for (suite, file) in [("good", "suite.yaml"), ("bad", "a.yaml")] {
            std::fs::create_dir_all(dir.path().join("suites").join(suite)).unwrap();
            std::fs::write(dir.path().join("suites").join(suite).join(file), "").unwrap();
        }
        let findings = suites_without_manifest(dir.path()).unwrap();
        let files: Vec<&str> = findings.iter().map(|finding| &*finding.file).collect();
        assert_eq!(files, ["suites/bad"]);
    }
}
