//! Runs a campaign on one program, and goes on with one that was interrupted.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use superstep_trace::ProbeResults;

use super::{Injection, Outcome, Space};
use crate::compile::ProbedExecutables;
use crate::compile::hash;
use crate::failure::{Failure, FailureKind};
use crate::interrupt;
use crate::suite::{Case, Kind, Run, SuiteOptions};

/// How a campaign is run.
#[derive(Debug, Clone)]
pub struct CampaignOptions {
    /// How many bits are flipped, one a run.
    pub injections: u64,
    /// Another seed chooses other injections.
    pub seed: u64,
    /// A run is taken for a hang after so many times the reference's time, and 2 seconds more.
    pub patience: f64,
}

/// An injection and what came of it: a line of `outcomes.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    injection: Injection,
    outcome: Outcome,
}

/// What must be the same for a campaign to go on: `campaign.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    schema_version: u32,
    seed: u64,
    program_sha256: String,
    size: String,
    executions: u64,
}

/// A campaign on one program, in a folder of its own.
pub struct Campaign<'a> {
    /// The program.
    pub case: Case<'a>,
    /// Name of its size.
    pub size: &'a str,
    /// It, without and with the probe `injection`.
    pub executables: &'a ProbedExecutables,
    /// The folder.
    pub folder: &'a Path,
}

impl Campaign<'_> {
    /// Runs what is missing of the campaign. Answers every outcome, in the order of the injections; fewer after an interruption.
    ///
    /// # Errors
    /// The program does not run without an injection, the folder holds another campaign, a file cannot be written.
    pub fn run(
        &self,
        options: &CampaignOptions,
        progress: impl Fn(u64) + Sync,
    ) -> Result<Vec<(Injection, Outcome)>, Failure> {
        let make = |path: &Path| {
            fs::create_dir_all(path)
                .map_err(|error| Failure::internal(format_args!("make {}", path.display()), error))
        };
        make(self.folder)?;
        let place = self.folder.join("reference");
        remove(&place);
        make(&place)?;
        // No instruction has this number: nothing is flipped, executions are counted.
        let profile = place.join("profile");
        let reference = self.execute(&place, [0, u64::MAX, 0, 0], Some(&profile), None)?;
        if let Some(failure) = reference.failure(&self.case) {
            return Err(failure);
        }
        let results = ProbeResults::open(&profile)
            .map_err(|error| Failure::new(FailureKind::Capture, error.to_string()))?;
        let space = Space::of(&results)
            .map_err(|error| Failure::new(FailureKind::Capture, error.to_string()))?;
        if space.executions() == 0 {
            let message =
                "failed to inject: no kernel of the program executes an instruction with a result";
            return Err(Failure::new(FailureKind::Run, message));
        }
        self.check_identity(options, &space)?;
        let path = self.folder.join("outcomes.jsonl");
        let mut known = read_lines(&path)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| Failure::internal(format_args!("open {}", path.display()), error))?;
        let file = Mutex::new(file);
        let limit = reference.outcome.wall.mul_f64(options.patience) + Duration::from_secs(2);
        let missing: Vec<Injection> = (0..options.injections)
            .filter(|number| !known.contains_key(number))
            .filter_map(|number| space.choose(options.seed, number))
            .collect();
        let made = missing
            .into_par_iter()
            .filter(|_| !interrupt::requested())
            .map(|injection| {
                let outcome = self.inject(&injection, &reference, limit)?;
                let Some(outcome) = outcome else {
                    return Ok(None);
                };
                progress(injection.number);
                let line = Line { injection, outcome };
                append(&file, &line, &path).map(|()| Some(line))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        for line in made.into_iter().flatten() {
            known.insert(line.injection.number, line);
        }
        let in_order = known.into_values();
        Ok(in_order
            .filter(|line| line.injection.number < options.injections)
            .map(|line| (line.injection, line.outcome))
            .collect())
    }

    /// One run with one flipped bit, in a folder that is removed afterwards. `None` when the user stopped it.
    fn inject(
        &self,
        injection: &Injection,
        reference: &Run,
        limit: Duration,
    ) -> Result<Option<Outcome>, Failure> {
        let place = self.folder.join(format!("run-{}", injection.number));
        remove(&place);
        let parameters = [
            u64::from(injection.launch),
            u64::from(injection.site),
            injection.execution,
            u64::from(injection.bit),
        ];
        let run = self.execute(&place, parameters, None, Some(limit))?;
        let outcome = (!interrupt::requested())
            .then(|| Outcome::of(&run, reference, &self.case.benchmark.checks));
        remove(&place);
        Ok(outcome)
    }

    fn execute(
        &self,
        place: &Path,
        parameters: [u64; 4],
        profile: Option<&Path>,
        limit: Option<Duration>,
    ) -> Result<Run, Failure> {
        let absolute = |path: &Path| -> PathBuf {
            std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
        };
        let mut options: SuiteOptions = self.case.options.clone();
        let mut set = |name: &str, value: String| {
            options.environment.retain(|(other, _)| other != name);
            options.environment.push((name.to_owned(), value));
        };
        // One worker: executions come in the same order in each run.
        set("SUPERSTEP_CPU_THREADS", "1".to_owned());
        let numbers = parameters.map(|number| number.to_string());
        set("SUPERSTEP_PROBE_PARAMETERS", numbers.join(","));
        if let Some(profile) = profile {
            set(
                "SUPERSTEP_PROBE_RESULTS",
                absolute(profile).display().to_string(),
            );
        }
        options.timeout = limit.or(options.timeout);
        let case = Case {
            options: &options,
            ..self.case
        };
        case.execute(
            Kind::Probed,
            &self.executables.probed,
            &absolute(place),
            None,
        )
    }

    fn check_identity(&self, options: &CampaignOptions, space: &Space) -> Result<(), Failure> {
        let path = self.folder.join("campaign.json");
        let program = &self.executables.probed;
        let identity = Identity {
            schema_version: 1,
            seed: options.seed,
            program_sha256: hash::of_file(program).map_err(|error| {
                Failure::internal(format_args!("read {}", program.display()), error)
            })?,
            size: self.size.to_owned(),
            executions: space.executions(),
        };
        match fs::read(&path) {
            Ok(text)
                if serde_json::from_slice::<Identity>(&text).ok().as_ref() == Some(&identity) =>
            {
                Ok(())
            }
            Ok(_) => {
                let message = format!(
                    "failed to go on with the campaign in {}: it is of another seed, size or build of the program; remove the folder, or \
                     give another --out",
                    self.folder.display()
                );
                Err(Failure::new(FailureKind::Usage, message))
            }
            Err(_) => {
                let text = serde_json::to_string_pretty(&identity)
                    .map_err(|error| Failure::internal("write JSON", error))?;
                fs::write(&path, text + "\n").map_err(|error| {
                    Failure::internal(format_args!("write {}", path.display()), error)
                })
            }
        }
    }
}

/// The outcomes so far. A last line that an interruption cut off is dropped, and its injection made again.
fn read_lines(path: &Path) -> Result<BTreeMap<u64, Line>, Failure> {
    let Ok(file) = File::open(path) else {
        return Ok(BTreeMap::new());
    };
    let mut lines = BTreeMap::new();
    let mut whole = String::new();
    for text in BufReader::new(file).lines() {
        let text = text
            .map_err(|error| Failure::internal(format_args!("read {}", path.display()), error))?;
        if let Ok(line) = serde_json::from_str::<Line>(&text) {
            whole.push_str(&text);
            whole.push('\n');
            lines.insert(line.injection.number, line);
        }
    }
    fs::write(path, whole)
        .map_err(|error| Failure::internal(format_args!("write {}", path.display()), error))?;
    Ok(lines)
}

fn append(file: &Mutex<File>, line: &Line, path: &Path) -> Result<(), Failure> {
    let mut text =
        serde_json::to_vec(line).map_err(|error| Failure::internal("write JSON", error))?;
    text.push(b'\n');
    let mut file = file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    file.write_all(&text)
        .map_err(|error| Failure::internal(format_args!("write {}", path.display()), error))
}

/// Removes a folder of ours, if it is there.
fn remove(folder: &Path) {
    // What stays is replaced by the next run there.
    let _ = fs::remove_dir_all(folder);
}
