//! Runs programs with and without a probe, and writes the probe's results and costs.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep_abi::KeepThreads;
use superstep_export::tables::Format;
use superstep_report::probes::ProbedBenchmark;
use superstep_trace::{ProbeResults, ProbeWriter};

use crate::capture;
use crate::results::write_json;
use crate::session::{Fetched, Session};
use crate::suite::{Case, Execution, Kind, Run, now};
use crate::verify::outputs_equal;
use superstep_build::bail;
use superstep_build::compile::ProbedExecutables;
use superstep_build::failure::Failure;
use superstep_build::interrupt;
use superstep_build::probe::Probe;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeRun {
    pub schema_version: u32,
    pub probe: String,
    pub title: String,
    pub suite: String,
    pub size: String,
    pub backend: String,
    pub device: String,
    pub started: String,
    pub command: Vec<String>,
    pub benchmarks: Vec<ProbedBenchmark>,
}

#[derive(Debug, Clone)]
pub struct RunOptions {
    pub keep_threads: bool,
    pub parameters: Vec<u64>,
    /// Number of runs of each program; the shortest times are kept.
    pub repeat: u32,
}

/// Builds and runs the programs in `fetched` with and without `probe`, and measures the costs. Failures are recorded.
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
        schema_version: 1,
        probe: probe.spec.name.clone(),
        title: probe.spec.title.clone(),
        suite: fetched.suite.name.clone(),
        size: fetched.size.clone(),
        backend: execution.backend.to_string(),
        device: String::new(),
        started: now(),
        command: std::env::args().collect(),
        benchmarks: Vec::new(),
    };
    for program in session.build_probed(fetched, probe)? {
        if interrupt::requested() {
            break;
        }
        let name = &program.benchmark.name;
        let step = reporter.step(format!("{name}: runs"), None);
        let mut row = ProbedBenchmark {
            name: name.clone(),
            ..ProbedBenchmark::default()
        };
        let mut fill = || {
            let executables = program.executables.as_ref().map_err(Clone::clone)?;
            let case = fetched.case(&program, execution)?;
            run_benchmark(&case, executables, run, &folder.join(name), &mut row)
        };
        match fill() {
            Ok(device) if device.is_empty() => {}
            Ok(device) => record.device = device,
            Err(failure) => {
                reporter.line(&format!("error: {failure}"));
                row.failure = Some(failure);
            }
        }
        drop(step);
        record.benchmarks.push(row);
        fs::create_dir_all(folder).map_err(Failure::io("create", &folder))?;
        write_json(&folder.join("run.json"), &record)?;
    }
    Ok(record)
}

/// Runs one program in `folder`, which is emptied, and fills its record. Returns the device's name.
fn run_benchmark(
    case: &Case<'_>,
    executables: &ProbedExecutables,
    run: &RunOptions,
    folder: &Path,
    record: &mut ProbedBenchmark,
) -> Result<String, Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Failure::io("empty", &folder))?;
    }
    fs::create_dir_all(folder).map_err(Failure::io("create", &folder))?;
    let folder = &(folder.canonicalize()).map_err(Failure::io("open", &folder))?;
    let best_of = |case: &Case<'_>, kind, program| -> Result<(Run, [f64; 2]), Failure> {
        let (mut best, mut number) = ([f64::INFINITY; 2], 0);
        loop {
            let last = case.execute(kind, program, folder, None)?;
            last.check_end(case)?;
            let times = [last.wall_s(), summary(&last)?.kernel_ns as f64 / 1e6];
            best = [best[0].min(times[0]), best[1].min(times[1])];
            number += 1;
            if number == run.repeat {
                return Ok((last, best));
            }
        }
    };
    let (native, best) = best_of(case, Kind::Native, &executables.native)?;
    [record.native_s, record.native_kernel_ms] = best;
    let mut execution = case.execution.clone();
    let results = folder.join("results");
    let config = &mut execution.config;
    config.probe_results = Some(results.clone());
    if run.keep_threads {
        config.probe_threads = KeepThreads::All;
    }
    config.probe_parameters.clone_from(&run.parameters);
    let case = &Case {
        execution: &execution,
        ..*case
    };
    let (probed, best) = best_of(case, Kind::Probed, &executables.probed)?;
    [record.probed_s, record.probed_kernel_ms] = best;
    let (name, summary) = (&record.name, summary(&probed)?);
    if !probed.processes.is_empty() {
        bail!(
            Usage,
            "failed to probe {name}: {} of its processes launch kernels, but only the results of one process are kept; probe a \
             run in which only one process launches kernels",
            probed.processes.len()
        );
    }
    record.launches = summary.launches;
    if let Some(fault) = summary.faults.first() {
        bail!(Verification, "failed to probe {name}: {fault}");
    }
    let equal = outputs_equal(&native.files, &probed.files, &case.benchmark.checks);
    if !equal.ok {
        bail!(
            Verification,
            "failed to probe {name}: its output differs from a run without the probe: {}",
            equal.detail
        );
    }
    if summary.launches == 0 && !results.exists() {
        // The program did not use CUDA.
        let empty = ProbeWriter::create(&results).and_then(|mut empty| empty.modules(&[]));
        empty.map_err(capture::failure)?;
    }
    let results = ProbeResults::open(&results).map_err(capture::failure)?;
    let tables = folder.join("tables");
    fs::create_dir_all(&tables).map_err(Failure::io("create", &tables))?;
    for format in Format::ALL {
        superstep_export::probe::write(&results, format, &tables).map_err(capture::failure)?;
    }
    record.probed_launches = Some(results.launches.len() as u64);
    Ok(summary.device.name.clone())
}

fn summary(run: &Run) -> Result<&superstep_build::run::Summary, Failure> {
    match &run.summary {
        Ok(summary) => Ok(summary),
        Err(error) => bail!(Run, "failed to read the runtime's summary: {error}"),
    }
}

/// Parses `NAME=NUMBER` settings into values in the order of the probe's parameters, 0 by default.
pub fn parameters(probe: &Probe, set: &[String]) -> Result<Vec<u64>, Failure> {
    let mut values = vec![0; probe.spec.parameters.len()];
    for text in set {
        let found = text.split_once('=').and_then(|(name, value)| {
            let index = probe.spec.parameters.iter().position(|p| p == name)?;
            Some((index, value.parse::<u64>().ok()?))
        });
        let Some((index, value)) = found else {
            let names = match &probe.spec.parameters[..] {
                [] => "it has none".to_owned(),
                names => names.join(", "),
            };
            bail!(
                Usage,
                "failed to set `{text}`: expected NAME=NUMBER with a name from {}: {names}",
                probe.file.display()
            );
        };
        values[index] = value;
    }
    Ok(values)
}
