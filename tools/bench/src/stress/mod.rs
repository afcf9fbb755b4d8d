//! `superstep-bench stress`: programs that put the capture under stress, and programs that fail.

mod cases;
mod outcome;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use superstep_abi::Config;
use superstep_build::failure::Failure;
use superstep_build::run::Kill;
use superstep_build::{bail, exit_code};
use superstep_harness::{Bundle, Selection};
use superstep_trace::Protocol;

use crate::run::{RunOutput, executables, figures, scratch, spec, start, summary};
use cases::Case;
use outcome::{CaptureTotals, Fingerprint};

/// Maximum time that tracing may add to a launch, in microseconds.
const MAX_ADDED_US: f64 = 20.0;
/// Number of lines to print from the end of a failed program's stderr.
const STDERR_LINES: usize = 6;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Bundle of the suite `stress` (`superstep bundle stress --out DIR`, with `--protocol stream` or `--in-situ`).
    #[arg(value_name = "BUNDLE")]
    bundle: PathBuf,
    /// Run only cases whose group and name, joined by a slash, match one of these comma-separated patterns: globs, or
    /// `regex:EXPR`.
    #[arg(long, value_name = "PATTERNS")]
    only: Vec<String>,
    /// Time limit in seconds after which a run counts as hung.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    timeout: f64,
}

pub fn run(args: &Args) -> Result<i32, Failure> {
    let bundle = Bundle::open(&args.bundle)?;
    let scratch = scratch()?;
    let cases = cases::all(bundle.info.backend, bundle.info.protocol);
    let mut stress = Stress {
        timeout: Duration::from_secs_f64(args.timeout.clamp(1.0, 3600.0)),
        bundle,
        scratch: scratch.path(),
        natives: HashMap::new(),
        fingerprints: HashMap::new(),
        device: Value::Null,
    };
    say!("group   result  seconds  launches    accesses  case");
    let selection = Selection::new(&args.only, &[])?;
    let (mut passed, mut failed, mut launches) = (0, 0, 0);
    for case in cases {
        let whole_name = format!("{}/{}", case.group, case.name);
        if selection.contains(&whole_name, &BTreeMap::new()) {
            let (is_right, case_launches) = stress.run_case(&case)?;
            match is_right {
                true => passed += 1,
                false => failed += 1,
            }
            if case.group == "stress" {
                launches += case_launches;
            }
        }
    }
    say!(
        "{passed} passed, {failed} failed; {launches} launches under stress; device: {}",
        stress.device
    );
    if failed > 0 {
        bail!(Verification, "{failed} cases failed; see the table");
    }
    Ok(exit_code::OK)
}

struct Stress<'a> {
    timeout: Duration,
    bundle: Bundle,
    scratch: &'a Path,
    /// Untraced runs, by program and arguments.
    natives: HashMap<(&'static str, Vec<String>), RunOutput>,
    fingerprints: HashMap<u32, Vec<Fingerprint>>,
    /// The device in the first summary.
    device: Value,
}

impl Stress<'_> {
    /// Runs the case's program, traced if `config` has a capture.
    fn start(&self, case: &Case, config: &Config) -> Result<RunOutput, Failure> {
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
            // A shell sets the limit and ignores SIGXFSZ, so that writes fail as on a full disk.
            let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
            spec.program = "bash".into();
            let shell = ["-c".to_owned(), script, program.display().to_string()];
            spec.args.splice(0..0, shell);
        }
        start(&spec)
    }

    /// Returns the untraced run to compare with; `None` in the group `stress`, and with a kill or a file limit.
    fn native(&mut self, case: &Case) -> Result<Option<&RunOutput>, Failure> {
        let is_limited = case.kill_after_s.is_some() || case.file_limit_kib.is_some();
        if is_limited || case.group == "stress" {
            return Ok(None);
        }
        let key = (case.program, case.arguments.clone());
        if !self.natives.contains_key(&key) {
            let output = self.start(case, &case.config)?;
            self.natives.insert(key.clone(), output);
        }
        Ok(self.natives.get(&key))
    }

    /// Runs a case and prints its result. Returns whether it passed, and its number of launches.
    fn run_case(&mut self, case: &Case) -> Result<(bool, usize), Failure> {
        let protocol = self.bundle.info.protocol;
        let folder = self.scratch.join("capture");
        let summary_file = self.scratch.join("summary.json");
        let _ = std::fs::remove_dir_all(&folder);
        let _ = std::fs::remove_file(&summary_file);
        let config = Config {
            protocol: Some(protocol),
            capture: Some(folder.clone()),
            summary: Some(summary_file.clone()),
            ..case.config.clone()
        };
        let output = self.start(case, &config)?;
        let summary = summary(&summary_file).ok();
        if let Some(summary) = &summary
            && self.device.is_null()
        {
            self.device = serde_json::to_value(&summary.device).unwrap_or_default();
        }
        let found = outcome::read(&folder);
        let difference = self.compare(case, &found);
        let native = self.native(case)?;
        let mut problems = outcome::problems(case, &output, native, summary.as_ref(), &found);
        problems.extend(difference);
        let native_figures = native
            .map(|native| figures(&native.stdout))
            .unwrap_or_default();
        let figures = figures(&output.stdout);
        if protocol != Protocol::InSitu {
            problems.extend(slowdown(&figures, &native_figures));
        }
        let found = found.unwrap_or_default();
        let passed = problems.is_empty();
        say!(
            "{:7} {}   {:7.2} {:9} {:11}  {}",
            case.group,
            if passed { "PASS" } else { "FAIL" },
            output.seconds,
            found.launches,
            found.accesses,
            case.name
        );
        for (index, figure) in figures.iter().enumerate() {
            let native = native_figures.get(index);
            let native = native.map(|native| format!(", untraced {native}"));
            say!("{:8}{figure}{}", "", native.unwrap_or_default());
        }
        for problem in &problems {
            say!("{:8}{problem}", "");
        }
        if !passed {
            let lines: Vec<&str> = output.stderr.lines().collect();
            for line in &lines[lines.len().saturating_sub(STDERR_LINES)..] {
                say!("{:8}stderr: {line}", "");
            }
        }
        Ok((passed, found.launches))
    }

    /// Compares a run's accesses with those of the first run with the same [`Case::same`].
    fn compare(&mut self, case: &Case, found: &Result<CaptureTotals, Failure>) -> Option<String> {
        let (number, found) = (case.same?, found.as_ref().ok()?);
        let first = self.fingerprints.entry(number);
        let first = first.or_insert_with(|| found.fingerprints.clone());
        (*first != found.fingerprints)
            .then(|| "its accesses differ from those with default buffers".to_owned())
    }
}

/// Returns a problem if tracing slows a launch down too much.
fn slowdown(traced: &[Value], native: &[Value]) -> Option<String> {
    let each = |figures: &[Value]| {
        let number = |figure: &Value| figure.get("microseconds_each")?.as_f64();
        figures.iter().find_map(number)
    };
    let added = each(traced)? - each(native)?;
    (added > MAX_ADDED_US)
        .then(|| format!("tracing adds {added:.1} µs to a launch; the limit is {MAX_ADDED_US} µs"))
}

#[cfg(test)]
mod tests;
