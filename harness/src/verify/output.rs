//! Compares program outputs with the manifest, and the outputs of two runs with each other.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use superstep_analysis::run_summary::Check;

use super::{failed, passed, warned};
use superstep_build::manifest::Checks;
use superstep_build::run::End;

#[derive(Debug, Clone)]
pub struct RunFiles {
    /// Name of the run for messages.
    pub name: &'static str,
    pub end: End,
    pub stdout: PathBuf,
    pub work: PathBuf,
    /// Whether lines can come in any order because multiple processes print them.
    pub any_order: bool,
}

pub fn check_manifest(run: &RunFiles, checks: &Checks) -> Vec<Check> {
    let (name, expected) = (run.name, checks.exit_code);
    let mut results = vec![if run.end == End::Exited(expected) {
        passed("exit-code", format!("{name}: {expected}"))
    } else {
        let found = run.end;
        let text = format!("{name}: the program {found}; exit code {expected} was expected");
        failed("exit-code", text)
    }];
    let wanted = &checks.stdout_contains;
    if !wanted.is_empty() {
        const CONTAINS: &str = "stdout-contains";
        let (text, file) = (read_text(&run.stdout), run.stdout.display());
        let missing = wanted.iter().find(|&wanted| !text.contains(wanted));
        results.push(match missing {
            None => passed(CONTAINS, format!("{name}: {} strings", wanted.len())),
            Some(missing) => failed(CONTAINS, format!("{name}: `{missing}` is not in {file}")),
        });
    }
    results
}

/// Differences between untraced runs of a program; comparisons ignore them.
#[derive(Debug, Default)]
pub struct OutputVariation {
    lines: BTreeSet<usize>,
    /// Index of the first line that is not compared because the number of lines varies.
    rest: Option<usize>,
    files: BTreeSet<PathBuf>,
}

impl OutputVariation {
    pub fn add(&mut self, first: &RunFiles, second: &RunFiles, checks: &Checks) {
        let (a, b) = (stable_lines(first, checks), stable_lines(second, checks));
        let differ = (0..a.len().min(b.len())).filter(|&at| a[at] != b[at]);
        self.lines.extend(differ);
        if a.len() != b.len() {
            let from = self.lines.first().copied().unwrap_or(a.len().min(b.len()));
            self.rest = Some(self.rest.map_or(from, |rest| rest.min(from)));
        }
        for file in &checks.output_files {
            if compare_files(&first.work.join(file), &second.work.join(file)).is_err() {
                self.files.insert(file.clone());
            }
        }
    }

    pub fn outputs_equal(&self, native: &RunFiles, other: &RunFiles, checks: &Checks) -> Check {
        compare("output-equal", native, other, checks, self)
    }

    /// Compares the native build's output with that of nvcc's build, except for the parts that vary.
    pub fn reference_equal(&self, nvcc: &RunFiles, native: &RunFiles, checks: &Checks) -> Check {
        compare(REFERENCE, nvcc, native, checks, self)
    }

    fn has_line(&self, index: usize) -> bool {
        self.lines.contains(&index) || self.rest.is_some_and(|rest| index >= rest)
    }

    fn excluded(&self) -> Option<String> {
        let lines = match (self.rest, self.lines.len()) {
            (Some(rest), _) => Some(format!("all lines from line {} on", rest + 1)),
            (None, 0) => None,
            (None, 1) => Some("one line".to_owned()),
            (None, number) => Some(format!("{number} lines")),
        };
        let files = self.files.iter().map(|file| file.display().to_string());
        let all: Vec<String> = lines.into_iter().chain(files).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// Compares the output and files of two runs, ignoring volatile lines.
pub fn outputs_equal(native: &RunFiles, other: &RunFiles, checks: &Checks) -> Check {
    OutputVariation::default().outputs_equal(native, other, checks)
}

pub fn no_reference(why: &str) -> Check {
    let first = why.lines().next().unwrap_or_default();
    warned(REFERENCE, format!("not compared: {first}"))
}

const REFERENCE: &str = "nvcc-build";

fn stable_lines(run: &RunFiles, checks: &Checks) -> Vec<String> {
    let volatile = |line: &&str| checks.volatile_lines.iter().any(|it| it.is_match(line));
    let text = read_text(&run.stdout);
    let lines = text.lines().filter(|line| !volatile(line));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    if run.any_order {
        lines.sort_unstable();
    }
    lines
}

fn compare(
    name: &str,
    native: &RunFiles,
    other: &RunFiles,
    checks: &Checks,
    varying: &OutputVariation,
) -> Check {
    let (first, second) = (native.name, other.name);
    if native.end != other.end {
        let (one, two) = (native.end, other.end);
        let text = format!("the {first} program {one}, but the {second} program {two}");
        return failed(name, text);
    }
    let (a, b) = (stable_lines(native, checks), stable_lines(other, checks));
    let differs = |at: &usize| a.get(*at) != b.get(*at) && !varying.has_line(*at);
    if let Some(index) = (0..a.len().max(b.len())).find(differs) {
        let shown = |line: Option<&String>| {
            line.map_or("nothing more".to_owned(), |line| format!("`{line}`"))
        };
        let (number, left, right) = (index + 1, shown(a.get(index)), shown(b.get(index)));
        return failed(
            name,
            format!(
                "stdout differs at line {number} (ignoring volatile lines): {first} printed {left}, {second} printed {right}"
            ),
        );
    }
    let files = checks.output_files.iter();
    for file in files.filter(|file| !varying.files.contains(*file)) {
        if let Err(why) = compare_files(&native.work.join(file), &other.work.join(file)) {
            return failed(name, format!("output file {}: {why}", file.display()));
        }
    }
    let (lines, files) = (a.len(), checks.output_files.len());
    let text = format!("{first} and {second}: {lines} lines, {files} files");
    match varying.excluded() {
        None => passed(name, text),
        Some(what) => warned(
            name,
            format!("{text}, without {what}, in which two untraced runs differ"),
        ),
    }
}

#[derive(Debug, thiserror::Error)]
enum FileDifference {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the first differing byte is at {0}")]
    Byte(usize),
    #[error("the first file ends after {0} bytes, but the second is longer")]
    FirstEnds(usize),
    #[error("the second file ends after {0} bytes, but the first is longer")]
    SecondEnds(usize),
}

/// Compares two files, and returns the first difference as the error.
fn compare_files(a: &Path, b: &Path) -> Result<(), FileDifference> {
    let read = |path: &Path| {
        let path = path.to_owned();
        fs::read(&path).map_err(|source| FileDifference::Unreadable { path, source })
    };
    let (a, b) = (read(a)?, read(b)?);
    if let Some(position) = a.iter().zip(&b).position(|(a, b)| a != b) {
        return Err(FileDifference::Byte(position));
    }
    match a.len().cmp(&b.len()) {
        Ordering::Equal => Ok(()),
        Ordering::Less => Err(FileDifference::FirstEnds(a.len())),
        Ordering::Greater => Err(FileDifference::SecondEnds(b.len())),
    }
}

/// Returns the contents of a file, or an empty string if it cannot be read.
pub fn read_text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests;
