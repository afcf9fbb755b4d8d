//! Runs a campaign on one program, or resumes an interrupted campaign.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_abi::KeepThreads;
use superstep_trace::ProbeResults;

use super::profile::Profile;
use super::{Injection, Outcome, Space};
use crate::results::write_json;
use crate::suite::{Case, Kind, Run};
use superstep_build::bail;
use superstep_build::compile::identity;
use superstep_build::failure::Failure;
use superstep_build::interrupt;
use superstep_build::run::End;

#[derive(Debug, Clone, clap::Args)]
pub struct CampaignOptions {
    /// Number of errors to inject into each program, one per run.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub injections: u64,
    /// Seed for choosing the errors.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Treat a run as hung after this many times the duration of an error-free run, plus 2 seconds.
    #[arg(long, value_name = "TIMES", default_value_t = 10.0)]
    patience: f64,
}

/// A line of `outcomes.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    injection: Injection,
    outcome: Outcome,
}

pub struct Campaign<'a> {
    pub case: Case<'a>,
    pub size: &'a str,
    /// The program with the probe `injection-profile`, which counts executions.
    pub profile: &'a Path,
    /// The program with the probe `injection`, which flips a bit.
    pub flip: &'a Path,
    pub folder: &'a Path,
}

impl Campaign<'_> {
    /// Runs the remaining injections. Returns all outcomes in order, or fewer after an interruption, and the number of
    /// places whose counts differ between two error-free runs.
    pub fn run(
        &self,
        options: &CampaignOptions,
        progress: impl Fn() + Sync,
    ) -> Result<(Vec<(Injection, Outcome)>, u64), Failure> {
        fs::create_dir_all(self.folder).map_err(Failure::io("create", &self.folder))?;
        let profile = Profile::of(self)?;
        self.check_identity(options, &profile.space)?;
        let path = self.folder.join("outcomes.jsonl");
        let mut known = read_lines(&path)?;
        let missing = (0..options.injections).filter(|number| !known.contains_key(number));
        let missing = missing.filter_map(|number| profile.space.choose(options.seed, number));
        let (missing, changed_places) = profile.locate(&missing.collect::<Vec<_>>())?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = Mutex::new(file.map_err(Failure::io("open", &path))?);
        let reference = &profile.reference;
        let limit =
            reference.outcome.wall.mul_f64(options.patience.max(1.0)) + Duration::from_secs(2);
        let exclusive = RwLock::new(());
        let lines = missing
            .into_par_iter()
            .filter(|_| !interrupt::requested())
            .map(|injection| {
                let outcome = self.inject(&injection, reference, limit, &exclusive)?;
                let Some(outcome) = outcome else {
                    return Ok(None);
                };
                progress();
                let line = Line { injection, outcome };
                append(&file, &line, &path).map(|()| Some(line))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        for line in lines.into_iter().flatten() {
            known.insert(line.injection.number, line);
        }
        let in_order = known.into_values();
        let requested = in_order.filter(|line| line.injection.number < options.injections);
        let outcomes = requested.map(|line| (line.injection, line.outcome));
        Ok((outcomes.collect(), changed_places))
    }

    /// Runs the program with one flipped bit. A run that seems to hang is repeated with no other run in parallel.
    /// Returns `None` after an interruption.
    fn inject(
        &self,
        injection: &Injection,
        reference: &Run,
        limit: Duration,
        exclusive: &RwLock<()>,
    ) -> Result<Option<Outcome>, Failure> {
        let folder = self.folder.join(format!("run-{}", injection.number));
        remove(&folder);
        let parameters = [
            u64::from(injection.launch),
            u64::from(injection.site),
            injection.thread,
            injection.execution,
            u64::from(injection.bit),
        ];
        let execute = || self.execute(self.flip, &folder, parameters, None, Some(limit));
        let mut run = {
            let _shared = exclusive.read();
            execute()?
        };
        if run.files.end == End::TimedOut && !interrupt::requested() {
            let _exclusive = exclusive.write();
            remove(&folder);
            run = execute()?;
        }
        let outcome = (!interrupt::requested()).then(|| {
            let checks = &self.case.benchmark.checks;
            Outcome::of(&run, reference, checks, flips(&folder.join("results")))
        });
        remove(&folder);
        Ok(outcome)
    }

    /// Runs `program` in `folder`, with the probe's results in `results`. `places` is a file with the places to count
    /// per thread.
    pub(super) fn execute(
        &self,
        program: &Path,
        folder: &Path,
        parameters: [u64; 5],
        places: Option<&Path>,
        limit: Option<Duration>,
    ) -> Result<Run, Failure> {
        let absolute = |path: &Path| -> PathBuf {
            std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
        };
        let mut execution = self.case.execution.clone();
        // With one worker on the CPU backend, threads interact in the same order in each run.
        execution.config.cpu_threads = Some(NonZeroUsize::MIN);
        execution.config.probe_parameters = parameters.to_vec();
        let folder = absolute(folder);
        execution.config.probe_results = Some(folder.join("results"));
        if let Some(path) = places {
            execution.config.probe_threads = KeepThreads::At(absolute(path));
        }
        execution.timeout = limit.or(execution.timeout);
        let case = Case {
            execution: &execution,
            ..self.case
        };
        case.execute(Kind::Probed, program, &folder, None)
    }

    /// Writes `campaign.json`, or fails if it exists and describes a different campaign.
    fn check_identity(&self, options: &CampaignOptions, space: &Space) -> Result<(), Failure> {
        let path = self.folder.join("campaign.json");
        let program = self.flip;
        let identity = json!({
            "schema_version": 2,
            "seed": options.seed,
            "program_sha256": identity(program).map_err(Failure::io("read", &program))?,
            "size": self.size,
            "executions": space.executions(),
        });
        let is_same = |text: &[u8]| serde_json::from_slice(text).ok().as_ref() == Some(&identity);
        match fs::read(&path) {
            Ok(text) if is_same(&text) => Ok(()),
            Ok(_) => bail!(
                Usage,
                "cannot resume the campaign in {}: it was started with a different seed, size or build of the program; \
                 remove the folder, or give a different --out",
                self.folder.display()
            ),
            Err(_) => write_json(&path, &identity),
        }
    }
}

/// Reads the outcomes recorded so far. A truncated last line is dropped, and its injection is repeated.
fn read_lines(path: &Path) -> Result<BTreeMap<u64, Line>, Failure> {
    let Ok(file) = File::open(path) else {
        return Ok(BTreeMap::new());
    };
    let mut lines = BTreeMap::new();
    let mut whole = String::new();
    for text in BufReader::new(file).lines() {
        let text = text.map_err(Failure::io("read", &path))?;
        if let Ok(line) = serde_json::from_str::<Line>(&text) {
            whole.push_str(&text);
            whole.push('\n');
            lines.insert(line.injection.number, line);
        }
    }
    fs::write(path, whole).map_err(Failure::io("write", &path))?;
    Ok(lines)
}

fn append(file: &Mutex<File>, line: &Line, path: &Path) -> Result<(), Failure> {
    let mut text =
        serde_json::to_vec(line).map_err(|error| Failure::internal("write JSON", error))?;
    text.push(b'\n');
    let mut file = file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    file.write_all(&text).map_err(Failure::io("write", &path))
}

/// Returns the number of flipped bits, or `None` if no launch completed.
fn flips(results: &Path) -> Option<u64> {
    let results = ProbeResults::open(results).ok()?;
    let launch = results.launches.first()?;
    results.words(launch.tables).ok()?.first().copied()
}

pub(super) fn remove(folder: &Path) {
    // The next run replaces leftovers.
    let _ = fs::remove_dir_all(folder);
}
