//! Measured counterparts of the published values.

use super::{Quantity, Series, is_published_run};
use crate::page::metrics_of;
use serde::{Deserialize, Serialize};
use std::path::Path;
use superstep_analysis::bins::STRIDE_BINS;
use superstep_analysis::metrics::Metrics;
use superstep_analysis::metrics::bisection::BisectionRow;
use superstep_analysis::metrics::superstep::SuperstepRow;
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Status};
use superstep_trace::Backend;

/// Measured values, and the run that they come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reproduction {
    pub(crate) tool: String,
    pub(crate) command: String,
    pub(crate) backend: Backend,
    pub(crate) device: String,
    pub(crate) finished: String,
    pub(crate) programs: Vec<MeasuredProgram>,
    pub(crate) series: Vec<Series>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MeasuredProgram {
    pub(crate) name: String,
    pub(crate) passed: bool,
    pub(crate) digest: Option<String>,
    /// SHA-256 of each input.
    pub(crate) inputs: Vec<String>,
}

impl Reproduction {
    /// Collects the values of a run of the suite `thesis` at size `thesis`, except those of partial recordings and
    /// in-situ programs; returns `None` for any other run.
    pub(crate) fn of(run: &RunSummary, measured: &[(String, Metrics)]) -> Option<Self> {
        if !is_published_run(run) {
            return None;
        }
        let mut command = run.command.clone();
        // Remove the program's folder, which differs between machines.
        if let Some(program) = command.first_mut() {
            let name = Path::new(&*program).file_name();
            *program = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        }
        let device = match run.backend {
            Backend::Cpu => format!("{}, {} cores", run.host.cpu, run.host.cores),
            Backend::Cuda => run.device.clone(),
        };
        let mut all = Self {
            tool: run.tool.clone(),
            command: command.join(" "),
            backend: run.backend,
            device,
            finished: run.finished.clone(),
            ..Self::default()
        };
        let whole = (run.benchmarks.iter()).filter(|it| it.selection.is_none() && !it.in_situ);
        for benchmark in whole {
            let name = &benchmark.name;
            let Some(metrics) = metrics_of(measured, name) else {
                continue;
            };
            let inputs = benchmark.inputs.iter();
            all.programs.push(MeasuredProgram {
                name: name.clone(),
                passed: benchmark.status == Status::Passed,
                digest: benchmark.digest.clone(),
                inputs: inputs.map(|it| it.sha256.clone()).collect(),
            });
            let series = Quantity::all().map(|quantity| Series {
                program: name.clone(),
                quantity,
                values: values(quantity, benchmark, metrics),
            });
            all.series.extend(series.filter(|it| !it.values.is_empty()));
        }
        Some(all)
    }

    /// Formats as JSON, with one line per series.
    pub(super) fn to_json(&self) -> serde_json::Result<String> {
        let of_run = Self {
            series: Vec::new(),
            ..self.clone()
        };
        let series = self.series.iter().map(serde_json::to_string);
        let series: Vec<String> = series.collect::<Result<_, _>>()?;
        let empty = "\"series\": []";
        let full = format!("\"series\": [\n    {}\n  ]", series.join(",\n    "));
        Ok(serde_json::to_string_pretty(&of_run)?.replace(empty, &full) + "\n")
    }
}

/// Returns the measured values, without empty bins.
fn values(quantity: Quantity, benchmark: &BenchmarkSummary, metrics: &Metrics) -> Vec<(u64, f64)> {
    let once = |value: Option<u64>| value.map(|bytes| (0, bytes as f64)).into_iter().collect();
    let cut = |dimension: usize, value: fn(&BisectionRow) -> f64| {
        let row = metrics.bisection.get(dimension);
        row.map(|row| (0, value(row))).into_iter().collect()
    };
    let degrees = |direction: &str| {
        let rows = metrics.degrees.iter();
        let rows = rows.filter(|row| row.direction == direction && row.entries > 0);
        rows.map(|row| (row.bin, row.share * 100.0)).collect()
    };
    let supersteps = |value: fn(&SuperstepRow) -> u64| {
        let rows = metrics.supersteps.iter();
        rows.map(|row| (row.superstep.into(), value(row) as f64))
            .collect()
    };
    let (bytes, communication) = (benchmark.bytes, benchmark.communication);
    match quantity {
        Quantity::Loaded => once(bytes.map(|it| it.with_atomics()[0])),
        Quantity::Stored => once(communication.map(|it| it.stored_bytes)),
        Quantity::Communicated => once(communication.map(|it| it.communicated_bytes)),
        Quantity::OutDegree => degrees("out"),
        Quantity::InDegree => degrees("in"),
        Quantity::CutX => cut(0, |row| row.as_published_bytes as f64),
        Quantity::CutXShare => cut(0, |row| row.as_published_share * 100.0),
        Quantity::CutY => cut(1, |row| row.as_published_bytes as f64),
        Quantity::CutYShare => cut(1, |row| row.as_published_share * 100.0),
        Quantity::LoadStride => strides(metrics, "load"),
        Quantity::StoreStride => strides(metrics, "store"),
        Quantity::SuperstepStores => supersteps(|row| row.stored_bytes),
        Quantity::SuperstepLoads => supersteps(|row| row.received_bytes),
        Quantity::Distance => (metrics.distances.iter())
            .map(|row| (row.distance.into(), row.bytes as f64))
            .collect(),
        Quantity::MeanOutDegree => (metrics.connectivity.iter())
            .map(|row| (row.superstep.into(), row.mean))
            .collect(),
    }
}

/// Returns the shares of all bins but the last, which the published numbers leave out.
fn strides(metrics: &Metrics, access: &str) -> Vec<(u64, f64)> {
    let last = STRIDE_BINS[STRIDE_BINS.len() - 1];
    let rows = || {
        let rows = metrics.strides.iter();
        rows.filter(|row| row.access == access && row.bin_bytes < last && row.distances > 0)
    };
    let all: u64 = rows().map(|row| row.distances).sum();
    let percent = |distances: u64| distances as f64 / all.max(1) as f64 * 100.0;
    let shares = rows().map(|row| (row.bin_bytes, percent(row.distances)));
    shares.collect()
}
