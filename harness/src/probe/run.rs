//! Runs a program without and with a probe, and writes down what the probe found and what it cost.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_trace::ProbeResults;

use super::write_run;
use crate::capture;
use crate::session::{Fetched, Prepared, Session};
use crate::suite::{Case, Execution, Kind, Run};
use crate::verify::outputs_equal;
use superstep_build::compile::ProbedExecutables;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::interrupt;
use superstep_build::probe::Probe;

/// Version of `run.json` of a probed run.
const RUN_SCHEMA_VERSION: u32 = 1;

/// A probed run of several programs: `run.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeRun {
    pub schema_version: u32,
    pub probe: String,
    pub title: String,
    pub suite: String,
    pub size: String,
    /// `cpu` or `cuda`.
    pub backend: String,
    pub device: String,
    pub started: String,
    pub command: Vec<String>,
    pub benchmarks: Vec<ProbedBenchmark>,
}

/// One program, without and with the probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbedBenchmark {
    pub name: String,
    /// Why there are no results; `None` when there are.
    pub failure: Option<Failure>,
    pub launches: u64,
    /// Those with results of the probe; `None` when unknown.
    #[serde(default)]
    pub probed_launches: Option<u64>,
    /// Wall time of the program in seconds, without the probe.
    pub native_s: f64,
    pub probed_s: f64,
    /// Time of all kernels in milliseconds, without the probe.
    pub native_kernel_ms: f64,
    pub probed_kernel_ms: f64,
}

#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Keep the fields of every single thread.
    pub keep_threads: bool,
    pub parameters: Vec<u64>,
    /// How often each program runs; the shortest times count.
    pub repeat: u32,
}

/// Builds the programs in `fetched` without and with `probe`, runs both into `folder`, and writes down what each cost.
///
/// # Errors
/// A tool is missing, or `folder` cannot be written. Programs that fail are in the record, not here.
pub fn measure(
    session: &Session,
    fetched: &Fetched<'_>,
    execution: &Execution,
    probe: &Probe,
    run: &RunOptions,
    folder: &Path,
) -> Result<ProbeRun, Failure> {
    let reporter = &session.reporter;
    let mut record = ProbeRun {
        schema_version: RUN_SCHEMA_VERSION,
        probe: probe.spec.name.clone(),
        title: probe.spec.title.clone(),
        suite: fetched.suite.name.clone(),
        size: fetched.size.clone(),
        backend: execution.backend.to_string(),
        device: String::new(),
        started: jiff::Timestamp::now().to_string(),
        command: std::env::args().collect(),
        benchmarks: Vec::new(),
    };
    for program in session.build_probed(fetched, probe)? {
        if interrupt::requested() {
            break;
        }
        let Prepared {
            benchmark,
            executables,
            sources,
        } = &program;
        let name = &benchmark.name;
        let step = reporter.step(format!("{name}: runs"), None);
        let row = match (executables, benchmark.sizes.get(&fetched.size)) {
            (Ok(executables), Some(size)) => {
                let case = Case {
                    suite: fetched.suite,
                    benchmark,
                    size,
                    execution,
                    sources,
                };
                let (row, device) = run_benchmark(&case, executables, run, &folder.join(name));
                record.device = device.unwrap_or(record.device);
                row
            }
            (executables, _) => {
                let message = format!("failed to run {name}: it has no size {}", fetched.size);
                let missing = Failure::new(FailureKind::Usage, message);
                ProbedBenchmark {
                    failure: Some(executables.as_ref().err().cloned().unwrap_or(missing)),
                    name: name.clone(),
                    ..ProbedBenchmark::default()
                }
            }
        };
        drop(step);
        if let Some(failure) = &row.failure {
            reporter.line(&format!("error: {failure}"));
        }
        record.benchmarks.push(row);
        write_run(folder, &record)?;
    }
    Ok(record)
}

/// Runs one program in `folder`, which is made anew. Returns its record and the device's name.
fn run_benchmark(
    case: &Case<'_>,
    executables: &ProbedExecutables,
    run: &RunOptions,
    folder: &Path,
) -> (ProbedBenchmark, Option<String>) {
    let mut record = ProbedBenchmark {
        name: case.benchmark.name.clone(),
        ..ProbedBenchmark::default()
    };
    let mut device = None;
    let outcome = fill(case, executables, run, folder, &mut record, &mut device);
    record.failure = outcome.err();
    (record, device)
}

fn fill(
    case: &Case<'_>,
    executables: &ProbedExecutables,
    run: &RunOptions,
    folder: &Path,
    record: &mut ProbedBenchmark,
    device: &mut Option<String>,
) -> Result<(), Failure> {
    let make = |result: std::io::Result<()>| result.map_err(Failure::io("make", &folder));
    if folder.exists() {
        make(fs::remove_dir_all(folder))?;
    }
    make(fs::create_dir_all(folder))?;
    let folder = &folder
        .canonicalize()
        .map_err(Failure::io("open", &folder))?;
    let mut native = case.execute(Kind::Native, &executables.native, folder, None)?;
    fail(&native, case)?;
    note(record, &native, false)?;
    for _ in 1..run.repeat {
        native = case.execute(Kind::Native, &executables.native, folder, None)?;
        fail(&native, case)?;
        note(record, &native, false)?;
    }
    let mut execution = case.execution.clone();
    let results = folder.join("results");
    execution.set("SUPERSTEP_PROBE_RESULTS", results.display().to_string());
    let keep_threads = u8::from(run.keep_threads).to_string();
    execution.set("SUPERSTEP_PROBE_THREADS", keep_threads);
    let parameters: Vec<String> = run.parameters.iter().map(u64::to_string).collect();
    execution.set("SUPERSTEP_PROBE_PARAMETERS", parameters.join(","));
    let case = &Case {
        execution: &execution,
        ..*case
    };
    let mut probed = case.execute(Kind::Probed, &executables.probed, folder, None)?;
    fail(&probed, case)?;
    note(record, &probed, true)?;
    for _ in 1..run.repeat {
        probed = case.execute(Kind::Probed, &executables.probed, folder, None)?;
        fail(&probed, case)?;
        note(record, &probed, true)?;
    }
    let after = summary(&probed)?;
    *device = Some(after.device.name.clone()).filter(|name| !name.is_empty());
    record.launches = after.launches;
    if let Some(fault) = after.faults.first() {
        let message = format!("failed to probe {}: {fault}", record.name);
        return Err(Failure::new(FailureKind::Verification, message));
    }
    let equal = outputs_equal(&native.files, &probed.files, &case.benchmark.checks);
    if !equal.ok {
        let message = format!(
            "failed to probe {}: its output differs from that without the probe: {}",
            record.name, equal.detail
        );
        return Err(Failure::new(FailureKind::Verification, message));
    }
    record.probed_launches = Some(write_tables(&results, &folder.join("tables"))?);
    Ok(())
}

/// Keeps the shortest times.
fn note(record: &mut ProbedBenchmark, run: &Run, probed: bool) -> Result<(), Failure> {
    let wall_s = run.outcome.wall.as_secs_f64();
    let kernel_ms = summary(run)?.kernel_ns as f64 / 1e6;
    let (best_wall, best_kernel) = if probed {
        (&mut record.probed_s, &mut record.probed_kernel_ms)
    } else {
        (&mut record.native_s, &mut record.native_kernel_ms)
    };
    let shorter = |best: &mut f64, now: f64| {
        if *best == 0.0 || now < *best {
            *best = now;
        }
    };
    shorter(best_wall, wall_s);
    shorter(best_kernel, kernel_ms);
    Ok(())
}

/// Writes the tables of the results in `folder` as CSV, JSON and Parquet, and says how many launches they have.
pub fn write_tables(results: &Path, folder: &Path) -> Result<u64, Failure> {
    let results = ProbeResults::open(results).map_err(capture::failure)?;
    fs::create_dir_all(folder).map_err(Failure::io("make", &folder))?;
    use superstep_export::tables::Format;
    for format in [Format::Csv, Format::Json, Format::Parquet] {
        superstep_export::probe::write(&results, format, folder).map_err(capture::failure)?;
    }
    Ok(results.launches.len() as u64)
}

fn fail(run: &Run, case: &Case<'_>) -> Result<(), Failure> {
    run.failure(case).map_or(Ok(()), Err)
}

fn summary(run: &Run) -> Result<&superstep_build::run::Summary, Failure> {
    run.summary.as_ref().map_err(|error| {
        Failure::new(
            FailureKind::Run,
            format!("failed to read what the runtime said: {error}"),
        )
    })
}

/// Parameters of a run, `name=value`, in the order in which the probe lists them; 0 where nothing is set.
pub fn parameters(probe: &Probe, set: &[String]) -> Result<Vec<u64>, Failure> {
    let mut values = vec![0; probe.spec.parameters.len()];
    for text in set {
        let found = text.split_once('=').and_then(|(name, value)| {
            let index = probe.spec.parameters.iter().position(|p| p == name)?;
            Some((index, value.parse::<u64>().ok()?))
        });
        let Some((index, value)) = found else {
            let message = format!(
                "failed to set `{text}`: expected NAME=NUMBER with a name from {}: {}",
                probe.file.display(),
                if probe.spec.parameters.is_empty() {
                    "it has none".to_owned()
                } else {
                    probe.spec.parameters.join(", ")
                }
            );
            return Err(Failure::new(FailureKind::Usage, message));
        };
        values[index] = value;
    }
    Ok(values)
}
