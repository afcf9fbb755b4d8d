//! Joins the results of a program in which more than one process launches kernels. Each such process is verified
//! and analysed separately.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use superstep_analysis::run_summary::{
    BenchmarkSummary, Check, CommunicationSummary, ProcessSummary, SelectionSummary, Status,
};
use superstep_analysis::scan::CaptureScan;
use superstep_analysis::tables;
use superstep_trace::{Capture, LaunchDigest, SampleUnit};

use super::analyse;
use super::benchmark::{Attempt, Runs};
use super::execute::Run;
use super::processes::ProcessRun;
use crate::capture;
use crate::verify::{self, CountVariation, Order, Totals};
use superstep_build::bail;
use superstep_build::failure::Failure;

impl<'a> Attempt<'a> {
    pub(super) fn join(&mut self, runs: &Runs, capture_folder: &Path) -> Result<(), Failure> {
        let options = self.suite.options;
        let name = self.record.name.clone();
        for (option, is_given) in [
            ("--repeat", options.running.repeat > 1),
            ("--verify-in-situ", self.suite.session.verify_in_situ),
        ] {
            if is_given {
                bail!(
                    Usage,
                    "{option} does not support multi-process runs, but multiple processes of {name} launch kernels; remove {option}"
                );
            }
        }
        let captures: Vec<Capture> = (runs.traced.processes.iter())
            .map(|process| self.open_named(process.capture.as_deref().unwrap_or(capture_folder)))
            .collect::<Result<_, _>>()?;
        let scans: Vec<CaptureScan> = {
            let _step = self.step("verification", None);
            let scans = captures.iter().map(verify::scan);
            scans.collect::<Result<_, _>>().map_err(capture::failure)?
        };
        let mut equal = self.counts_of_processes(runs, &scans);
        let [native, traced, counted] =
            [&runs.native, &runs.traced, &runs.counted].map(|run| run.processes.len().max(1));
        let is_same_number = native == traced && traced == counted;
        let numbers = format!(
            "the number of kernel-launching processes differs: {native} untraced, {traced} traced, {counted} counting"
        );
        let needs_sums = equal.iter().any(|check| !check.ok) || !is_same_number;
        let mut digest = LaunchDigest::default();
        scans.iter().for_each(|scan| digest += scan.digest);
        let launches = scans.iter().flat_map(|scan| scan.launches.clone());
        let all = CaptureScan {
            sites: captures[0].sites(),
            launches: launches.collect(),
            violations: Default::default(),
            digest,
        };
        let summed = needs_sums.then(|| {
            let varying = CountVariation::new(Order::Processes);
            varying.counts_equal(
                &all,
                runs.counted.counts().as_deref(),
                self.record.reproducibility(),
            )
        });
        let summed = summed.filter(|check| check.ok && launches_agree(runs));
        self.add_checks([match &summed {
            Some(check) => {
                equal.fill(check.clone());
                verify::passed(PROCESSES, format!("{numbers}; {}", Order::Processes))
            }
            None if is_same_number => {
                let text = format!("{traced} processes launch kernels in each run");
                verify::passed(PROCESSES, text)
            }
            None => verify::failed(PROCESSES, numbers),
        }]);
        let mut totals = Totals::default();
        let mut parts = Vec::new();
        let processes = runs.traced.processes.iter().zip(&captures);
        for ((process, capture), (scan, equal)) in processes.zip(scans.iter().zip(equal)) {
            let mut part = self.process_attempt(process, capture);
            let part_totals = part.add_scan(capture, scan, equal)?;
            let (begin, step) = (Instant::now(), part.step("analysis", Some(capture)));
            let (folder, options) = (part.tables_folder()?, &self.suite.options.analysis);
            let analysis = analyse::analyse(capture, &folder, options)?;
            let tables = part.add_analysis(capture, &analysis, begin)?;
            drop(step);
            part.record.status = match part.record.verification.iter().any(Check::failed) {
                true => Status::Failed,
                false => Status::Passed,
            };
            parts.push((process.process, tables));
            totals.add(&part_totals);
            self.add_process(&part.record);
            let checks = part.record.verification.iter();
            let named = checks.map(|check| Check {
                detail: format!("{}: {}", process.process, check.detail),
                ..check.clone()
            });
            self.record.verification.extend(named);
            self.record.processes.push(part.record);
        }
        let joined = self.suite.progress.folder.tables(&name).join("joined");
        tables::write_joined(&joined, &parts).map_err(capture::failure)?;
        for kernel in &mut self.record.kernel_times {
            let sites = captures.iter().map(Capture::sites);
            let mut names = sites.map(|sites| sites.display_name(&kernel.name));
            let readable = names.find(|readable| *readable != kernel.name);
            kernel.name = readable.map_or_else(|| kernel.name.clone(), str::to_owned);
        }
        self.fill_totals(&all, &totals);
        self.compare_with_known(&all)
    }

    fn process_attempt(&self, process: &ProcessRun, capture: &Capture) -> Attempt<'a> {
        Attempt {
            record: BenchmarkSummary {
                name: format!("{}/{}", self.record.name, process.process),
                title: format!("{}, {}", self.record.title, process.process),
                backend: self.suite.progress.summary.backend,
                size: self.suite.progress.summary.size.clone(),
                deterministic: self.record.deterministic,
                same: self.record.same,
                process: Some(ProcessSummary {
                    process: process.process,
                    program: capture.header.program.clone(),
                    arguments: capture.header.arguments.clone(),
                }),
                ..BenchmarkSummary::default()
            },
            device: None,
            ..*self
        }
    }

    /// Adds a process's sizes, times, communication and selection to the joined result.
    fn add_process(&mut self, process: &BenchmarkSummary) {
        let record = &mut self.record;
        record.in_situ |= process.in_situ;
        record.cta_blocks = process.cta_blocks;
        *record.capture_bytes.get_or_insert_default() += process.capture_bytes.unwrap_or(0);
        let analysis = process.seconds.analysis.unwrap_or(0.0);
        *record.seconds.analysis.get_or_insert_default() += analysis;
        let (sum, more) = (record.communication, process.communication);
        let (sum, more) = (sum.unwrap_or_default(), more.unwrap_or_default());
        let mut between = sum.communicated_between();
        between += more.communicated_between();
        record.communication = Some(CommunicationSummary {
            communicated_bytes_between: (!between.is_exact()).then_some(between),
            ..CommunicationSummary::new(
                sum.stored_bytes + more.stored_bytes,
                sum.communicated_bytes + more.communicated_bytes,
            )
        });
        if let Some(more) = &process.within_launch {
            record.within_launch.get_or_insert_default().add(more);
        }
        match (&mut record.selection, &process.selection) {
            (Some(sum), Some(more)) => add_selection(sum, more),
            (None, Some(first)) => record.selection = Some(first.clone()),
            (_, None) => {}
        }
    }

    /// Compares each process with a process of the counting run that has the same rank and, if possible, equal counts.
    fn counts_of_processes(&self, runs: &Runs, scans: &[CaptureScan]) -> Vec<Check> {
        let reproducibility = self.record.reproducibility();
        let mut counted: Vec<&ProcessRun> = runs.counted.processes.iter().collect();
        let traced = runs.traced.processes.iter().zip(scans);
        let checks = traced.map(|(process, scan)| {
            let check = |counted: &ProcessRun| {
                let summaries = [process, counted].map(|it| it.summary.as_ref().ok());
                let varying = CountVariation::new(Order::of(summaries.into_iter().flatten()));
                let counts = summaries[1].and_then(|summary| summary.counts.as_deref());
                varying.counts_equal(scan, counts, reproducibility)
            };
            let rank = process.process.rank;
            let mut candidates = (0..counted.len()).filter(|&at| counted[at].process.rank == rank);
            let Some(first) = candidates.next() else {
                return CountVariation::default().counts_equal(scan, None, reproducibility);
            };
            let mut all = std::iter::once(first).chain(candidates);
            let at = all.find(|&at| check(counted[at]).ok).unwrap_or(first);
            check(counted.remove(at))
        });
        checks.collect()
    }
}

const PROCESSES: &str = "processes";

/// Returns whether the untraced and traced processes launched each kernel the same number of times in total.
fn launches_agree(runs: &Runs) -> bool {
    let launches = |run: &Run| {
        let kernels = run.summary.as_ref().ok()?.kernels.iter();
        let launches = kernels.map(|it| (it.name.clone(), it.launches));
        Some(launches.collect::<BTreeMap<_, _>>())
    };
    let native = launches(&runs.native);
    native.is_some() && native == launches(&runs.traced)
}

fn add_selection(sum: &mut SelectionSummary, more: &SelectionSummary) {
    sum.launches += more.launches;
    sum.ctas += more.ctas;
    // Estimates exist only per process.
    sum.estimates.clear();
    if let Some(sample) = sum.selection.sample {
        let part = match sample.unit {
            SampleUnit::Launches => sum.launches,
            SampleUnit::Ctas => sum.ctas,
        };
        sum.scale_factor = part.scope as f64 / part.recorded as f64;
    }
}
