//! Additional runs of a benchmark, to find out whether its results and times vary, or to compare an in-situ run with a
//! trace.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use superstep_analysis::communication::Options;
use superstep_analysis::run_summary::{Check, Repeats, Reproducibility, Seconds, Spread};
use superstep_analysis::{Analysis, analyse_within};
use superstep_trace::{Capture, LaunchCounts};

use super::benchmark::{Attempt, MORE_RUNS, Runs};
use super::execute::{Kind, Run};
use super::options::memory_limit;
use crate::capture;
use crate::verify::{self, CaptureScan, CountVariation, Golden, Order, OutputVariation};
use superstep_build::bail;
use superstep_build::failure::Failure;

/// Hint for a difference that repeated runs do not explain.
const HINT: &str = "; if the program's threads divide work differently in each run, `deterministic` in its manifest (or \
                    --nondeterministic) determines what is compared";

impl Run {
    /// Returns the counts of all processes of a counting run.
    pub(super) fn counts(&self) -> Option<Cow<'_, [LaunchCounts]>> {
        if self.processes.is_empty() {
            let summary = self.summary.as_ref().ok()?;
            return summary.counts.as_deref().map(Cow::Borrowed);
        }
        let mut all = Vec::new();
        for process in &self.processes {
            all.extend_from_slice(process.summary.as_ref().ok()?.counts.as_deref()?);
        }
        Some(Cow::Owned(all))
    }
}

impl Runs {
    /// Returns how launch numbers can differ between the traced and counting runs.
    pub(super) fn order(&self) -> Order {
        let runs = [&self.traced, &self.counted];
        match runs.iter().all(|run| run.processes.is_empty()) {
            true => Order::of(runs.iter().filter_map(|run| run.summary.as_ref().ok())),
            false => Order::Processes,
        }
    }
}

impl Attempt<'_> {
    /// Repeats the untraced and traced programs, compares the captures with the `first` one, and deletes them. A run
    /// that differs fails the check.
    pub(super) fn repeat(&mut self, runs: &Runs, first: &Golden) -> Result<(), Failure> {
        let (case, executables) = (self.case, self.executables);
        let count = self.suite.options.running.repeat;
        let times = |run: &Run| (run.wall_s(), run.kernel_s());
        let (mut native, mut traced) = (vec![times(&runs.native)], vec![times(&runs.traced)]);
        let mut difference = None;
        for number in 2..=count {
            let folder = self.folder().join(format!("repeat-{number}"));
            let capture_folder = folder.join("capture");
            let capture = Some(capture_folder.as_path());
            for (kind, program, capture, all) in [
                (Kind::Native, &executables.native, None, &mut native),
                (Kind::Traced, &executables.traced, capture, &mut traced),
            ] {
                let what = format!("{} run {number} of {count}", kind.name());
                let _step = self.step(&what, None);
                let run = case.execute(kind, program, &folder, capture)?;
                run.check_end(case)?;
                let checks = case.output_checks();
                let equal = verify::outputs_equal(&runs.native.files, &run.files, &checks);
                self.add_checks(Some(equal).filter(|check| !check.ok));
                all.push(times(&run));
            }
            let capture = capture::open(&capture_folder)?;
            let scan = verify::scan(&capture).map_err(capture::failure)?;
            let found = first.difference(&self.as_golden(&scan), &scan);
            difference = difference.or(found.map(|what| format!("run {number}: {what}")));
            fs::remove_dir_all(&capture_folder).map_err(Failure::io("remove", &capture_folder))?;
        }
        self.add_checks([match difference {
            None => verify::passed("repeats-agree", format!("{count} runs")),
            Some(difference) => verify::failed("repeats-agree", difference),
        }]);
        let spreads = |times: Vec<(f64, Option<f64>)>| {
            let (wall, kernel): (Vec<f64>, Vec<Option<f64>>) = times.into_iter().unzip();
            let kernel: Vec<f64> = kernel.into_iter().flatten().collect();
            (Spread::of(&wall), Spread::of(&kernel))
        };
        let ((native, native_kernel), (traced, traced_kernel)) = (spreads(native), spreads(traced));
        let repeats = Repeats {
            count,
            native,
            traced,
            native_kernel,
            traced_kernel,
        };
        medians(&mut self.record.seconds, &repeats);
        self.record.repeats = Some(repeats);
        Ok(())
    }

    /// Compares other runs with the untraced run. If they differ, more untraced runs show whether the output varies.
    pub(super) fn outputs_equal(
        &self,
        native: &Run,
        others: [&Run; 2],
    ) -> Result<Vec<Check>, Failure> {
        let checks = self.case.output_checks();
        let mut varying = OutputVariation::default();
        let mut number = 0;
        loop {
            number += 1;
            let compare = |run: &&Run| varying.outputs_equal(&native.files, &run.files, &checks);
            let results: Vec<Check> = others.iter().map(compare).collect();
            if number > MORE_RUNS || results.iter().all(|check| check.ok) {
                return Ok(results);
            }
            let repeated = self.rerun(Kind::Native, number)?;
            varying.add(&native.files, &repeated.files, &checks);
        }
    }

    /// Compares the capture with the counting run. If they differ, more counting runs show what varies.
    pub(super) fn counts_equal(&self, scan: &CaptureScan, runs: &Runs) -> Result<Check, Failure> {
        let (first, same) = (runs.counted.counts(), self.record.reproducibility());
        let mut varying = CountVariation::new(runs.order());
        let mut number = 0;
        loop {
            number += 1;
            let mut check = varying.counts_equal(scan, first.as_deref(), same);
            let Some(first) = first.as_deref().filter(|_| !check.ok) else {
                return Ok(check);
            };
            if number > MORE_RUNS {
                if varying.is_empty() {
                    let agree = format!("; {MORE_RUNS} more counting runs had the same counts");
                    check.detail.push_str(&agree);
                }
                check.detail.push_str(HINT);
                return Ok(check);
            }
            let repeated = self.rerun(Kind::Counted, number)?;
            varying.add(first, repeated.counts().as_deref().unwrap_or_default());
        }
    }

    /// Traces the program again, compares the sums with the new trace, and deletes the trace.
    pub(super) fn verify_in_situ(
        &self,
        aggregated: &Analysis,
        capture: &Capture,
        runs: &Runs,
    ) -> Result<Vec<Check>, Failure> {
        let Some(program) = &self.executables.recording else {
            bail!(
                Usage,
                "failed to verify {}: the bundle has no recording program; rebuild it with --in-situ --verify-in-situ",
                self.record.name
            );
        };
        let has_waits = capture.sites().iter().any(|site| site.waits);
        let is_steady = self.record.reproducibility() == Reproducibility::Digests && !has_waits;
        let folder = self.folder();
        let (mut results, traced) = self.record_and_analyse(program, &runs.native, &folder)?;
        let (sites, order) = (capture.sites(), runs.order());
        let equal = is_steady.then(|| verify::in_situ_equal(aggregated, &traced, sites, order));
        let is_retryable = |check: &Check| !check.ok && order != Order::Fixed;
        let equal = match equal.filter(|check| !is_retryable(check)) {
            Some(equal) => equal,
            None => {
                let folder = folder.join("recorded-again");
                let (more, again) = self.record_and_analyse(program, &runs.native, &folder)?;
                results.extend(more);
                verify::in_situ_between(aggregated, [&traced, &again], sites, order)
            }
        };
        results.push(equal);
        Ok(results)
    }

    fn record_and_analyse(
        &self,
        program: &Path,
        native: &Run,
        folder: &Path,
    ) -> Result<(Vec<Check>, Analysis), Failure> {
        let capture_folder = folder.join(Kind::Recorded.name()).join("capture");
        let recorded = {
            let _step = self.step("recorded run", None);
            (self.case).execute(Kind::Recorded, program, folder, Some(&capture_folder))?
        };
        recorded.check_end(self.case)?;
        let checks = self.case.output_checks();
        let equal = verify::outputs_equal(&native.files, &recorded.files, &checks);
        let mut results = verify::check_runtime(recorded.files.name, &recorded.summary);
        results.insert(0, equal);
        let trace = capture::open(&capture_folder)?;
        results.push(verify::capture_complete(&trace));
        let _step = self.step("comparison with the trace", Some(&trace));
        let options = &self.suite.options.analysis;
        let limit = memory_limit(options.analysis_memory, &capture_folder);
        let traced = analyse_within(&trace, Options::transfers(), &limit);
        let traced = traced.map_err(capture::failure)?;
        drop(trace);
        fs::remove_dir_all(&capture_folder).map_err(Failure::io("remove", &capture_folder))?;
        Ok((results, traced))
    }

    fn rerun(&self, kind: Kind, number: u32) -> Result<Run, Failure> {
        let (name, program) = match kind {
            Kind::Native => ("untraced", &self.executables.native),
            _ => ("counting", &self.executables.counted),
        };
        let what = format!("repeated {name} run, since results differ");
        let _step = self.step(&what, None);
        let folder = self.folder().join(format!("again-{number}"));
        let run = self.case.execute(kind, program, &folder, None)?;
        run.check_end(self.case)?;
        Ok(run)
    }
}

fn medians(seconds: &mut Seconds, repeats: &Repeats) {
    let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
    seconds.native = median(repeats.native).or(seconds.native);
    seconds.traced = median(repeats.traced).or(seconds.traced);
    seconds.native_kernel = median(repeats.native_kernel).or(seconds.native_kernel);
    seconds.traced_kernel = median(repeats.traced_kernel).or(seconds.traced_kernel);
}
