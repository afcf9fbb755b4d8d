//! `superstep-bench stress`: programs that put the capture under stress, and programs that fail.

mod cases;
mod outcome;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use superstep_abi::Config;
use superstep_build::failure::Failure;
use superstep_build::run::Kill;
use superstep_build::{bail, exit_code};
use superstep_harness::{Bundle, Selection};
use superstep_trace::Protocol;

use crate::output::{Head, JsonArgs};
use crate::run::{Ran, executables, figures, scratch, spec, start, summary};
use cases::Case;
use outcome::{CaptureTotals, Fingerprint};

/// Maximum time that a trace may add to a launch, in microseconds.
const MOST_ADDED_US: f64 = 20.0;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundle of the suite `stress` (`superstep bundle stress --out DIR`, with `--protocol stream` or `--in-situ`).
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Run only cases whose group and name, joined by a slash, match one of these comma-separated patterns: globs, or
    /// `regex:EXPR`.
    #[arg(long, value_name = "PATTERNS")]
    only: Vec<String>,
    /// Time limit in seconds after which a run counts as hanging.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    timeout: f64,
    #[command(flatten)]
    json: JsonArgs,
}

#[derive(Debug, Serialize)]
struct Row {
    group: &'static str,
    name: String,
    passed: bool,
    seconds: f64,
    launches: usize,
    accesses: u64,
    figures: Vec<Value>,
    native_figures: Vec<Value>,
    problems: Vec<String>,
    /// Last lines of stderr.
    stderr: String,
}

#[derive(Debug, Serialize)]
struct Results {
    #[serde(flatten)]
    head: Head,
    device: Value,
    protocol: Protocol,
    passed: usize,
    failed: usize,
    stress_launches: usize,
    rows: Vec<Row>,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let bundle = Bundle::open(&args.bundle)?;
    let scratch = scratch()?;
    let (backend, protocol) = (bundle.info.backend, bundle.info.protocol);
    let mut stress = Stress {
        timeout: Duration::from_secs_f64(args.timeout.clamp(1.0, 3600.0)),
        bundle,
        scratch: scratch.path(),
        natives: HashMap::new(),
        fingerprints: HashMap::new(),
        results: Results {
            head: Head::now(),
            device: Value::Null,
            protocol,
            passed: 0,
            failed: 0,
            stress_launches: 0,
            rows: Vec::new(),
        },
    };
    say!("group   result  seconds  launches    accesses  case");
    let selection = Selection::new(&args.only, &[])?;
    for case in cases::all(backend, protocol) {
        let whole_name = format!("{}/{}", case.group, case.name);
        if selection.takes(&whole_name, &BTreeMap::new()) {
            let row = stress.case(&case)?;
            print(&row);
            let results = &mut stress.results;
            results.passed += usize::from(row.passed);
            results.failed += usize::from(!row.passed);
            if row.group == "stress" {
                results.stress_launches += row.launches;
            }
            results.rows.push(row);
        }
    }
    let results = stress.results;
    say!(
        "{} passed, {} failed; {} launches under stress; device: {}",
        results.passed,
        results.failed,
        results.stress_launches,
        results.device
    );
    args.json.write(&results)?;
    if results.failed > 0 {
        bail!(
            Verification,
            "{} cases failed; see the table",
            results.failed
        );
    }
    Ok(exit_code::OK)
}

fn print(row: &Row) {
    say!(
        "{:7} {}   {:7.2} {:9} {:11}  {}",
        row.group,
        if row.passed { "PASS" } else { "FAIL" },
        row.seconds,
        row.launches,
        row.accesses,
        row.name
    );
    for (index, figure) in row.figures.iter().enumerate() {
        let native = row.native_figures.get(index);
        let native = native.map(|native| format!(", untraced {native}"));
        say!("{:8}{figure}{}", "", native.unwrap_or_default());
    }
    for problem in &row.problems {
        say!("{:8}{problem}", "");
    }
    if !row.passed {
        for line in row.stderr.lines() {
            say!("{:8}stderr: {line}", "");
        }
    }
}

struct Stress<'a> {
    timeout: Duration,
    bundle: Bundle,
    scratch: &'a Path,
    /// Untraced runs, by program and arguments.
    natives: HashMap<(&'static str, Vec<String>), Ran>,
    fingerprints: HashMap<u32, Vec<Fingerprint>>,
    results: Results,
}

impl Stress<'_> {
    /// Runs the case's program, traced if `config` has a capture.
    fn start(&self, case: &Case, config: &Config) -> Result<Ran, Failure> {
        let programs = executables(&self.bundle, "stress", case.program)?;
        let program = match config.capture {
            Some(_) => programs.traced,
            None => programs.native,
        };
        let mut spec = spec(&program, &[], config, self.scratch);
        spec.args.clone_from(&case.arguments);
        spec.timeout = self.timeout;
        let kill = case.kill_after_s.zip(config.capture.clone());
        spec.kill = kill.map(|(seconds, file)| Kill {
            file,
            after: Duration::from_secs(seconds),
        });
        if let Some(kib) = case.file_limit_kib {
            // A shell sets the limit, and ignores the signal, so that writing fails as on a full disk.
            let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
            spec.program = "bash".into();
            let shell = ["-c".to_owned(), script, program.display().to_string()];
            spec.args.splice(0..0, shell);
        }
        start(&spec)
    }

    /// Returns the untraced run to compare with; `None` for the group `stress`, killed programs and file limits.
    fn native(&mut self, case: &Case) -> Result<Option<&Ran>, Failure> {
        let is_limited = case.kill_after_s.is_some() || case.file_limit_kib.is_some();
        if is_limited || case.group == "stress" {
            return Ok(None);
        }
        let key = (case.program, case.arguments.clone());
        if !self.natives.contains_key(&key) {
            let ran = self.start(case, &case.config)?;
            self.natives.insert(key.clone(), ran);
        }
        Ok(self.natives.get(&key))
    }

    fn case(&mut self, case: &Case) -> Result<Row, Failure> {
        let folder = self.scratch.join("capture");
        let summary_file = self.scratch.join("summary.json");
        let _ = std::fs::remove_dir_all(&folder);
        let _ = std::fs::remove_file(&summary_file);
        let config = Config {
            protocol: Some(self.results.protocol),
            capture: Some(folder.clone()),
            summary: Some(summary_file.clone()),
            ..case.config.clone()
        };
        let ran = self.start(case, &config)?;
        let summary = summary(&summary_file).ok();
        if let Some(summary) = &summary
            && self.results.device.is_null()
        {
            self.results.device = serde_json::to_value(&summary.device).unwrap_or_default();
        }
        let found = outcome::read(&folder);
        let same = self.same(case, &found);
        let is_in_situ = self.results.protocol == Protocol::InSitu;
        let native = self.native(case)?;
        let mut problems = outcome::problems(case, &ran, native, summary.as_ref(), &found);
        problems.extend(same);
        let native_figures = native
            .map(|native| figures(&native.stdout))
            .unwrap_or_default();
        let figures = figures(&ran.stdout);
        if !is_in_situ {
            problems.extend(too_slow(&figures, &native_figures));
        }
        let found = found.unwrap_or_default();
        Ok(Row {
            group: case.group,
            name: case.name.clone(),
            passed: problems.is_empty(),
            seconds: ran.seconds,
            launches: found.launches,
            accesses: found.accesses,
            figures,
            native_figures,
            problems,
            stderr: last_lines(&ran.stderr),
        })
    }

    /// Compares a run's accesses with those of the first run with the same [`Case::same`].
    fn same(&mut self, case: &Case, found: &Result<CaptureTotals, Failure>) -> Option<String> {
        let (number, found) = (case.same?, found.as_ref().ok()?);
        let first = self.fingerprints.entry(number);
        let first = first.or_insert_with(|| found.fingerprints.clone());
        (*first != found.fingerprints)
            .then(|| "its accesses differ from those with default buffers".to_owned())
    }
}

fn last_lines(text: &str) -> String {
    const LINES: usize = 6;
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// Reports tracing that slows a launch too much.
fn too_slow(traced: &[Value], native: &[Value]) -> Option<String> {
    let each = |figures: &[Value]| {
        let number = |figure: &Value| figure.get("microseconds_each")?.as_f64();
        figures.iter().find_map(number)
    };
    let added = each(traced)? - each(native)?;
    (added > MOST_ADDED_US).then(|| {
        format!("tracing adds {added:.1} µs to a launch; at most {MOST_ADDED_US} µs are allowed")
    })
}

#[cfg(test)]
mod tests;
