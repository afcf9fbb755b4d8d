//! `superstep-bench stress`: programs that are hard on the capture, and programs that end badly.

mod cases;
mod outcome;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use superstep_abi::Config;
use superstep_build::compile::Executables;
use superstep_build::exit_code;
use superstep_build::failure::{Failure, FailureKind};
use superstep_harness::{Bundle, Selection};
use superstep_trace::{Protocol, Summary};

use crate::output::{Head, JsonArgs, say, scratch};
use cases::{Case, RunMode};
use outcome::{CaptureTotals, Fingerprint, Ran};

/// Microseconds that a trace may add to a launch.
const MOST_ADDED_US: f64 = 20.0;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundle of the suite `stress` (`superstep bundle stress --out DIR`, with `--protocol stream` or `--in-situ`).
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Only cases whose group and name, joined by a slash, match one of these comma-separated patterns: globs, or `regex:EXPR`.
    #[arg(long, value_name = "PATTERNS")]
    only: Vec<String>,
    /// Launches of each run of the stress kernel: 25, or 5 where buffers do not matter.
    #[arg(long, value_name = "N", default_value_t = 40)]
    launches: u32,
    /// Launches in a row whose cost is measured.
    #[arg(long, value_name = "N", default_value_t = 70_000)]
    many: u32,
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
    ended: String,
    seconds: f64,
    launches: usize,
    accesses: u64,
    complete: bool,
    /// Measured by the traced program.
    figures: Vec<Value>,
    /// Measured by the untraced program.
    native_figures: Vec<Value>,
    problems: Vec<String>,
    faults: Vec<String>,
    warnings: Vec<String>,
    /// The end of what it said on stderr.
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
    let mut stress = Stress {
        args,
        protocol: bundle.info.protocol,
        scratch: scratch.path(),
        programs: HashMap::new(),
        natives: HashMap::new(),
        fingerprints: HashMap::new(),
        device: Value::Null,
    };
    for program in &bundle.info.benchmarks {
        let executables = bundle.executables(program)?;
        stress.programs.insert(program.clone(), executables);
    }
    let mut results = Results {
        head: Head::now(),
        device: Value::Null,
        protocol: bundle.info.protocol,
        passed: 0,
        failed: 0,
        stress_launches: 0,
        rows: Vec::new(),
    };
    say(format_args!(
        "group   result  seconds  launches    accesses  case"
    ));
    let selection = Selection::new(&args.only, &[])?;
    let Args { launches, many, .. } = *args;
    for case in cases::all(launches, many, bundle.info.backend, bundle.info.protocol) {
        let whole_name = format!("{}/{}", case.group, case.name);
        if !selection.takes(&whole_name, &BTreeMap::new()) {
            continue;
        }
        let row = stress.case(&case)?;
        print(&row);
        results.passed += usize::from(row.passed);
        results.failed += usize::from(!row.passed);
        if row.group == "stress" {
            results.stress_launches += row.launches;
        }
        results.rows.push(row);
    }
    results.device = stress.device;
    say(format_args!(
        "{} passed, {} failed; {} launches under stress; device: {}",
        results.passed, results.failed, results.stress_launches, results.device
    ));
    args.json.write(&results)?;
    if results.failed > 0 {
        let message = format!("{} cases failed; see the table", results.failed);
        return Err(Failure::new(FailureKind::Verification, message));
    }
    Ok(exit_code::OK)
}

fn print(row: &Row) {
    say(format_args!(
        "{:7} {}   {:7.2} {:9} {:11}  {}",
        row.group,
        if row.passed { "PASS" } else { "FAIL" },
        row.seconds,
        row.launches,
        row.accesses,
        row.name
    ));
    for (index, figure) in row.figures.iter().enumerate() {
        let native = row.native_figures.get(index);
        let native = native.map(|native| format!(", untraced {native}"));
        say(format_args!(
            "{:8}{figure}{}",
            "",
            native.unwrap_or_default()
        ));
    }
    for problem in &row.problems {
        say(format_args!("{:8}{problem}", ""));
    }
    if !row.passed {
        for line in row.stderr.lines() {
            say(format_args!("{:8}stderr: {line}", ""));
        }
    }
}

struct Stress<'a> {
    args: &'a Args,
    protocol: Protocol,
    scratch: &'a Path,
    programs: HashMap<String, Executables>,
    /// Runs without a trace, by program and arguments.
    natives: HashMap<(String, Vec<String>), Ran>,
    fingerprints: HashMap<u32, Vec<Fingerprint>>,
    device: Value,
}

impl Stress<'_> {
    fn timeout(&self) -> Duration {
        Duration::from_secs_f64(self.args.timeout.clamp(1.0, 3600.0))
    }

    fn program(&self, case: &Case, traced: bool) -> Result<PathBuf, Failure> {
        let Some(programs) = self.programs.get(case.program) else {
            let (program, bundle) = (case.program, self.args.bundle.display());
            let message =
                format!("failed to find {program} in {bundle}: give a bundle of the suite stress");
            return Err(Failure::new(FailureKind::Usage, message));
        };
        Ok(if traced {
            programs.traced.clone()
        } else {
            programs.native.clone()
        })
    }

    fn start(&self, case: &Case, traced: bool, config: &Config) -> Result<Ran, Failure> {
        let program = self.program(case, traced)?;
        outcome::run(&program, case, config, self.scratch, self.timeout())
            .map_err(Failure::io("run", &program))
    }

    /// The run without a trace that the case is held against; a program that is to be killed, or gets limits that only matter with
    /// a trace, has none.
    fn native(&mut self, case: &Case) -> Result<Option<&Ran>, Failure> {
        if case.how != RunMode::Plain || case.group == "stress" {
            return Ok(None);
        }
        let key = (case.program.to_owned(), case.arguments.clone());
        if !self.natives.contains_key(&key) {
            let ran = self.start(case, false, &case.config)?;
            self.natives.insert(key.clone(), ran);
        }
        Ok(self.natives.get(&key))
    }

    fn case(&mut self, case: &Case) -> Result<Row, Failure> {
        let folder = self.scratch.join("capture");
        let summary = self.scratch.join("summary.json");
        let _ = std::fs::remove_dir_all(&folder);
        let _ = std::fs::remove_file(&summary);
        let config = Config {
            protocol: Some(self.protocol),
            capture: Some(folder.clone()),
            summary: Some(summary.clone()),
            ..case.config.clone()
        };
        let ran = self.start(case, true, &config)?;
        let summary = Summary::read(&summary).ok();
        if let Some(summary) = &summary
            && self.device.is_null()
        {
            self.device = serde_json::to_value(&summary.device).unwrap_or_default();
        }
        let found = outcome::read(&folder, case.same.is_some());
        let same = self.same(case, &found);
        let native = self.native(case)?;
        let mut problems = outcome::problems(case, &ran, native, summary.as_ref(), &found);
        problems.extend(same);
        let native_figures = native.map(Ran::figures).unwrap_or_default();
        let figures = ran.figures();
        if self.protocol != Protocol::InSitu {
            problems.extend(too_slow(&figures, &native_figures));
        }
        let found = found.unwrap_or_default();
        let (faults, warnings) = summary.map(|s| (s.faults, s.warnings)).unwrap_or_default();
        Ok(Row {
            group: case.group,
            name: case.name.clone(),
            passed: problems.is_empty(),
            ended: ran.ended(),
            seconds: ran.seconds,
            launches: found.launches,
            accesses: found.accesses,
            complete: found.complete,
            figures,
            native_figures,
            problems,
            faults,
            warnings,
            stderr: last_lines(&ran.stderr),
        })
    }

    /// Compares the accesses of a run with those of the first run of its number.
    fn same(&mut self, case: &Case, found: &Result<CaptureTotals, Failure>) -> Option<String> {
        let (number, found) = (case.same?, found.as_ref().ok()?);
        let first = self.fingerprints.entry(number);
        let first = first.or_insert_with(|| found.fingerprints.clone());
        (*first != found.fingerprints)
            .then(|| "its accesses differ from those with usual buffers".to_owned())
    }
}

/// Enough to see what went wrong.
fn last_lines(text: &str) -> String {
    const LINES: usize = 6;
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// Whether a launch became dearer than it may.
fn too_slow(traced: &[Value], native: &[Value]) -> Option<String> {
    let each = |figures: &[Value]| {
        let number = |figure: &Value| figure.get("microseconds_each")?.as_f64();
        figures.iter().find_map(number)
    };
    let added = each(traced)? - each(native)?;
    (added > MOST_ADDED_US).then(|| {
        format!("a launch takes {added:.1} µs longer, at most {MOST_ADDED_US} are allowed")
    })
}

#[cfg(test)]
mod tests;
