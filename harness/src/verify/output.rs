//! What the programs printed and wrote: each against the manifest, and the traced one against the untraced one.

use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use superstep_report::run_summary::Check;

use super::{failed, passed, warned};
use superstep_build::manifest::Checks;
use superstep_build::run::End;

/// Where one run left its results.
#[derive(Debug, Clone)]
pub struct RunFiles {
    /// How messages call the run: native, traced, counted.
    pub name: &'static str,
    pub end: End,
    pub stdout: PathBuf,
    pub work: PathBuf,
}

/// Holds one run against the manifest: exit code and texts on standard output.
pub fn check_manifest(run: &RunFiles, checks: &Checks) -> Vec<Check> {
    let mut results = vec![if run.end == End::Exited(checks.exit_code) {
        passed("exit-code", format!("{}: {}", run.name, checks.exit_code))
    } else {
        failed(
            "exit-code",
            format!(
                "{}: the program {}; exit code {} was expected",
                run.name, run.end, checks.exit_code
            ),
        )
    }];
    if !checks.stdout_contains.is_empty() {
        let text = read_text(&run.stdout);
        let missing = checks
            .stdout_contains
            .iter()
            .find(|wanted| !text.contains(wanted.as_str()));
        results.push(match missing {
            None => passed(
                "stdout-contains",
                format!("{}: {} texts", run.name, checks.stdout_contains.len()),
            ),
            Some(wanted) => failed(
                "stdout-contains",
                format!(
                    "{}: `{wanted}` is not in {}",
                    run.name,
                    run.stdout.display()
                ),
            ),
        });
    }
    results
}

/// Compares what two runs printed (but for the lines that may differ) and wrote.
pub fn outputs_equal(native: &RunFiles, other: &RunFiles, checks: &Checks) -> Check {
    compare("output-equal", native, other, checks)
}

/// Holds the native build against the same program as stock Clang builds it.
pub fn plain_build_equal(plain: &RunFiles, native: &RunFiles, checks: &Checks) -> Check {
    compare(PLAIN_BUILD, plain, native, checks)
}

/// The native build has no reference.
pub fn no_plain_build(why: &str) -> Check {
    let first = why.lines().next().unwrap_or_default();
    warned(PLAIN_BUILD, format!("not compared: {first}"))
}

const PLAIN_BUILD: &str = "plain-build";

fn compare(name: &str, native: &RunFiles, other: &RunFiles, checks: &Checks) -> Check {
    if native.end != other.end {
        return failed(
            name,
            format!(
                "the {} program {}, the {} one {}",
                native.name, native.end, other.name, other.end
            ),
        );
    }
    let (a, b) = (read_text(&native.stdout), read_text(&other.stdout));
    let stable = |text: &str| -> Vec<String> {
        let volatile = |line: &str| {
            checks
                .volatile_lines
                .iter()
                .any(|pattern| pattern.is_match(line))
        };
        text.lines()
            .filter(|line| !volatile(line))
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (stable(&a), stable(&b));
    if let Some(difference) = first_difference(&a, &b) {
        let (number, left, right) = difference;
        return failed(
            name,
            format!(
                "stdout differs at line {number} (volatile lines left out): {} printed {left}, {} printed {right}",
                native.name, other.name
            ),
        );
    }
    for file in &checks.output_files {
        if let Err(why) = same_file(&native.work.join(file), &other.work.join(file)) {
            return failed(name, format!("output file {}: {why}", file.display()));
        }
    }
    passed(
        name,
        format!(
            "{} and {}: {} lines, {} files",
            native.name,
            other.name,
            a.len(),
            checks.output_files.len()
        ),
    )
}

fn first_difference(a: &[String], b: &[String]) -> Option<(usize, String, String)> {
    let shown =
        |line: Option<&String>| line.map_or("nothing more".to_owned(), |line| format!("`{line}`"));
    (0..a.len().max(b.len()))
        .find(|&index| a.get(index) != b.get(index))
        .map(|index| (index + 1, shown(a.get(index)), shown(b.get(index))))
}

/// Compares two files byte for byte; the error says where they differ.
fn same_file(a: &Path, b: &Path) -> Result<(), String> {
    let open = |path: &Path| {
        fs::File::open(path)
            .map(BufReader::new)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let (mut a, mut b) = (open(a)?.bytes(), open(b)?.bytes());
    let mut position = 0u64;
    loop {
        let next =
            |byte: Option<std::io::Result<u8>>| byte.transpose().map_err(|error| error.to_string());
        match (next(a.next())?, next(b.next())?) {
            (None, None) => return Ok(()),
            (Some(x), Some(y)) if x == y => position += 1,
            (Some(_), Some(_)) => return Err(format!("the first different byte is at {position}")),
            (None, Some(_)) => {
                return Err(format!(
                    "the first one ends after {position} bytes, the second goes on"
                ));
            }
            (Some(_), None) => {
                return Err(format!(
                    "the second one ends after {position} bytes, the first goes on"
                ));
            }
        }
    }
}

fn read_text(path: &Path) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    fn run(folder: &Path, name: &'static str, stdout: &str, file: &str) -> RunFiles {
        let work = folder.join(name);
        fs::create_dir_all(&work).unwrap();
        let path = work.join("stdout");
        fs::write(&path, stdout).unwrap();
        fs::write(work.join("result.out"), file).unwrap();
        RunFiles {
            name,
            end: End::Exited(0),
            stdout: path,
            work,
        }
    }

    fn checks() -> Checks {
        Checks {
            stdout_contains: vec!["PASSED".into()],
            volatile_lines: vec![Regex::new("^time").unwrap()],
            output_files: vec!["result.out".into()],
            ..Checks::default()
        }
    }

    #[test]
    fn volatile_lines_may_differ_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let native = run(folder.path(), "native", "time 1\nPASSED\nx\n", "abc");
        let same = run(folder.path(), "traced", "time 22\nPASSED\nx\n", "abc");
        assert!(outputs_equal(&native, &same, &checks()).ok);
        let line = run(folder.path(), "traced", "time 22\nPASSED\ny\n", "abc");
        let check = outputs_equal(&native, &line, &checks());
        assert!(
            !check.ok && check.detail.contains("line 2") && check.detail.contains("`y`"),
            "{check:?}"
        );
        let short = run(folder.path(), "traced", "PASSED\n", "abc");
        assert!(
            outputs_equal(&native, &short, &checks())
                .detail
                .contains("nothing more")
        );
    }

    #[test]
    fn output_files_are_compared_byte_by_byte() {
        let folder = tempfile::tempdir().unwrap();
        let native = run(folder.path(), "native", "", "abc");
        let detail = |file: &str| {
            outputs_equal(&native, &run(folder.path(), "traced", "", file), &checks()).detail
        };
        assert!(detail("abd").contains("byte is at 2"));
        assert!(detail("abcd").contains("ends after 3 bytes"));
        fs::remove_file(folder.path().join("traced/result.out")).unwrap();
        let gone = RunFiles {
            name: "traced",
            work: folder.path().join("traced"),
            ..native.clone()
        };
        assert!(
            !outputs_equal(&native, &gone, &checks()).ok,
            "a missing file is a difference"
        );
    }

    #[test]
    fn the_manifest_is_held_against_each_run() {
        let folder = tempfile::tempdir().unwrap();
        let good = run(folder.path(), "native", "PASSED\n", "");
        assert!(
            check_manifest(&good, &checks())
                .iter()
                .all(|check| check.ok)
        );
        let bad = RunFiles {
            end: End::Signalled(11),
            ..run(folder.path(), "native", "FAILED\n", "")
        };
        let results = check_manifest(&bad, &checks());
        assert!(results.iter().all(|check| !check.ok));
        assert!(
            results[0].detail.contains("SIGSEGV") && results[1].detail.contains("`PASSED`"),
            "{results:?}"
        );
    }
}
