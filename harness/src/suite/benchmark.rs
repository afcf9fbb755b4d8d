//! Runs the three variants of one benchmark, then verifies and analyses the results.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use superstep_analysis::Analysis;
use superstep_analysis::run_summary::{
    BenchmarkSummary, Check, InputRecord, KernelTime, OpaqueSummary, Reproducibility, Status,
};
use superstep_report::page::source_file;
use superstep_table::Table;
use superstep_trace::{Capture, Names};

use super::execute::{Case, Kind, Run};
use super::processes;
use super::{SuiteRun, analyse, golden_file};
use crate::capture;
use crate::results::Step;
use crate::verify::{self, CaptureScan, Golden, Order, Totals};
use superstep_build::bail;
use superstep_build::compile::Executables;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::inputs::InputUsed;
use superstep_build::manifest::Language;

/// Number of additional runs to find out whether a program's results vary.
pub(super) const MORE_RUNS: u32 = 3;

/// Runs, verifies and analyses one benchmark. Returns its record and the name of the device.
pub(super) fn run(
    suite: &SuiteRun<'_>,
    case: &Case<'_>,
    executables: &Executables,
) -> (BenchmarkSummary, Option<String>) {
    let mut attempt = Attempt {
        suite,
        case,
        executables,
        record: BenchmarkSummary {
            name: case.benchmark.name.clone(),
            title: case.benchmark.title.clone(),
            deterministic: case.reproducibility() == Reproducibility::Digests,
            same: Some(case.reproducibility()),
            ..BenchmarkSummary::default()
        },
        device: None,
    };
    let outcome = attempt.fill();
    let mut record = attempt.record;
    match outcome {
        Ok(()) => record.status = Status::Passed,
        Err(failure) => {
            record.status = match failure.kind {
                FailureKind::Interrupted => Status::Skipped,
                _ => Status::Failed,
            };
            record.failure = Some(failure);
        }
    }
    (record, attempt.device)
}

pub(super) struct Attempt<'a> {
    pub suite: &'a SuiteRun<'a>,
    pub case: &'a Case<'a>,
    pub executables: &'a Executables,
    pub record: BenchmarkSummary,
    pub device: Option<String>,
}

pub(super) struct Runs {
    pub native: Run,
    pub traced: Run,
    pub counted: Run,
}

impl Attempt<'_> {
    pub(super) fn step(&self, what: &str, capture: Option<&Capture>) -> Step {
        let name = &self.case.benchmark.name;
        let reporter = &self.suite.session.reporter;
        reporter.step(format!("{name}: {what}"), capture)
    }

    pub(super) fn folder(&self) -> PathBuf {
        let run = &self.suite.progress.folder;
        run.benchmark(&self.case.benchmark.name)
    }

    pub(super) fn add_checks(&mut self, checks: impl IntoIterator<Item = Check>) {
        self.record.verification.extend(checks);
    }

    fn fill(&mut self) -> Result<(), Failure> {
        let run = &self.suite.progress.folder;
        let capture_folder = run.capture(&self.case.benchmark.name);
        let runs = self.execute(&capture_folder)?;
        match runs.traced.processes.is_empty() {
            true => self.fill_one(&runs, &capture_folder)?,
            false => self.join(&runs, &capture_folder)?,
        }
        self.verdict()?;
        if self.suite.options.analysis.no_captures {
            fs::remove_dir_all(&capture_folder).map_err(Failure::io("remove", &capture_folder))?;
        }
        Ok(())
    }

    fn fill_one(&mut self, runs: &Runs, capture_folder: &Path) -> Result<(), Failure> {
        let capture = self.open_named(capture_folder)?;
        for kernel in &mut self.record.kernel_times {
            kernel.name = capture.sites().display_name(&kernel.name).to_owned();
        }
        let begin = Instant::now();
        let step = self.step("verification and analysis", Some(&capture));
        let (folder, options) = (self.tables_folder()?, &self.suite.options.analysis);
        let (scan, analysis) = analyse::verify_and_analyse(&capture, &folder, options)?;
        let equal = self.counts_equal(&scan, runs)?;
        let totals = self.add_scan(&capture, &scan, equal)?;
        let analysis = analysis?;
        self.add_analysis(&capture, &analysis, begin)?;
        drop(step);
        self.compare_with_known(&scan)?;
        if self.suite.options.running.repeat > 1 {
            let first = self.as_golden(&scan);
            self.repeat(runs, &first)?;
        }
        if self.suite.session.verify_in_situ && totals.launches > 0 {
            let checks = self.verify_in_situ(&analysis, &capture, runs)?;
            self.add_checks(checks);
        }
        self.explain_order(runs.order());
        Ok(())
    }

    /// Opens a capture of the traced run and adds the names of its program and arrays to it.
    pub(super) fn open_named(&self, folder: &Path) -> Result<Capture, Failure> {
        let mut capture = capture::open(folder)?;
        let mut units = self.case.benchmark.translation_units.iter();
        let program = (units.next()).filter(|unit| unit.language != Language::Built);
        let names = Names {
            program: program.map(|unit| unit.file.display().to_string()),
            arrays: analyse::array_names(&capture, &self.executables.sources),
        };
        capture.add_names(names).map_err(capture::failure)?;
        Ok(capture)
    }

    /// Adds the likely reason to failed digest comparisons.
    fn explain_order(&mut self, order: Order) {
        let digests = ["golden", "repeats-agree"];
        let checks = self.record.verification.iter_mut();
        let differ = checks
            .filter(|check| check.failed() && digests.contains(&check.check.as_str()))
            .filter(|_| order != Order::Fixed);
        for check in differ {
            check.detail.push_str(&format!(
                "; {order}, which changes the numbers of streams and allocations; `same: counts` in the manifest excludes \
                 them from the comparison"
            ));
        }
    }

    fn execute(&mut self, capture_folder: &Path) -> Result<Runs, Failure> {
        let (case, executables, folder) = (self.case, self.executables, self.folder());
        let native = {
            let _step = self.step("untraced run", None);
            case.execute(Kind::Native, &executables.native, &folder, None)?
        };
        self.record.inputs = native.inputs.iter().map(input_record).collect();
        self.record.seconds.native = Some(native.wall_s());
        if let Err(failure) = self.check_end(&native) {
            return Err(self.locate(failure, &native, capture_folder));
        }
        if let Ok(summary) = &native.summary
            && !summary.device.name.is_empty()
        {
            self.device = Some(summary.device.name.clone());
        }
        let compared = {
            let _step = self.step("run of nvcc's build", None);
            self.suite.references.compare(case, executables, &folder)?
        };
        self.add_checks(compared);
        let traced = {
            let _step = self.step("traced run", None);
            let capture = Some(capture_folder);
            case.execute(Kind::Traced, &executables.traced, &folder, capture)?
        };
        self.record.seconds.traced = Some(traced.wall_s());
        if let Err(failure) = self.check_end(&traced) {
            // The capture of a failed program may be unreadable.
            let _ = self.open_named(capture_folder);
            return Err(failure);
        }
        let counted = {
            let _step = self.step("counting run", None);
            case.execute(Kind::Counted, &executables.counted, &folder, None)?
        };
        self.record.seconds.counted = Some(counted.wall_s());
        self.record.seconds.native_kernel = native.kernel_s();
        self.record.seconds.traced_kernel = traced.kernel_s();
        self.record.kernel_times = kernel_times(&native, &traced);
        self.record.opaque = native.summary.as_ref().ok().and_then(OpaqueSummary::of);
        counted.check_end(case)?;
        let equal = self.outputs_equal(&native, [&traced, &counted])?;
        self.add_checks(equal);
        for run in [&native, &traced, &counted] {
            self.add_checks(verify::check_runtime(run.files.name, &run.summary));
        }
        self.add_checks(processes::early_ends(&traced.early));
        self.add_checks(self.launched(&traced));
        Ok(Runs {
            native,
            traced,
            counted,
        })
    }

    /// Adds the location of a kernel fault to `failure`; only the traced program can determine it.
    fn locate(&mut self, mut failure: Failure, native: &Run, capture_folder: &Path) -> Failure {
        let faults = verify::check_runtime(native.files.name, &native.summary);
        if native.summary.is_err() || !verify::faulted(&faults) {
            return failure;
        }
        self.add_checks(faults);
        let found = || -> Result<Option<String>, Failure> {
            let _step = self.step("traced run, to locate the fault", None);
            let (program, capture) = (&self.executables.traced, Some(capture_folder));
            let traced = (self.case).execute(Kind::Traced, program, &self.folder(), capture)?;
            if traced.processes.is_empty() {
                let capture = self.open_named(capture_folder)?;
                let checks = verify::checks(&verify::scan(&capture).map_err(capture::failure)?);
                if let Some(outside) = verify::outside_allocations(&checks) {
                    return Ok(Some(outside.detail.clone()));
                }
            }
            let faults = traced.summary.ok().map(|summary| summary.faults);
            Ok(faults.and_then(|faults| faults.into_iter().next()))
        };
        // The untraced program's failure is reported regardless.
        if let Ok(Some(text)) = found() {
            failure.message.push_str(&format!("\n  traced: {text}"));
        }
        failure
    }

    /// Returns a failure or a warning if the program launched no kernel, unless its manifest expects that.
    fn launched(&self, run: &Run) -> Option<Check> {
        let summary = run.summary.as_ref().ok()?;
        let size = &self.suite.progress.summary.size;
        let expected = self.case.benchmark.expected.get(size);
        if expected.is_some_and(|expected| expected.launches == Some(0)) {
            return None;
        }
        // Programs without a manifest have no golden results.
        let is_benchmark = self.suite.options.golden.is_some();
        verify::launched(summary, is_benchmark)
    }

    fn check_end(&mut self, run: &Run) -> Result<(), Failure> {
        let checks = &self.case.benchmark.checks;
        self.add_checks(verify::check_manifest(&run.files, checks));
        run.check_end(self.case)
    }

    /// Adds the results of the verification of one capture; `equal` is its comparison with the counting run.
    pub(super) fn add_scan(
        &mut self,
        capture: &Capture,
        scan: &CaptureScan,
        equal: Check,
    ) -> Result<Totals, Failure> {
        let bytes = capture.stored_bytes().map_err(capture::failure)?;
        self.record.capture_bytes = Some(bytes);
        self.record.in_situ = scan.is_in_situ();
        self.record.cta_blocks = capture.header.cta_blocks;
        self.add_checks([verify::capture_complete(capture)]);
        self.add_checks(verify::opaque_assembly(capture));
        self.add_checks(verify::shared_memory(capture));
        match self.record.in_situ {
            true => self.add_checks(verify::check_sums(capture)),
            false => self.add_checks(verify::checks(scan)),
        }
        self.add_checks([equal]);
        if let Some(selection) = &capture.header.selection {
            let (check, summary) =
                verify::check_selection(capture, scan, selection).map_err(capture::failure)?;
            self.add_checks([check]);
            self.record.selection = Some(summary);
        }
        self.copy_sources(capture);
        let totals = verify::totals(scan);
        self.fill_totals(scan, &totals);
        Ok(totals)
    }

    /// Adds the results and tables of an analysis that began at `begin`.
    pub(super) fn add_analysis(
        &mut self,
        capture: &Capture,
        analysis: &Analysis,
        begin: Instant,
    ) -> Result<Vec<Table>, Failure> {
        let (folder, options) = (self.tables_folder()?, &self.suite.options.analysis);
        let tables = analyse::add(
            analysis,
            capture.sites(),
            &folder,
            options,
            &mut self.record,
        )?;
        self.record.seconds.analysis = Some(begin.elapsed().as_secs_f64());
        Ok(tables)
    }

    /// Creates the folder of the benchmark's tables, which also holds temporary files.
    pub(super) fn tables_folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.suite.progress.folder.tables(&self.record.name);
        fs::create_dir_all(&folder).map_err(Failure::io("create", &folder))?;
        Ok(folder)
    }

    /// Copies the source files of the program's accesses into the run's folder, for the report.
    fn copy_sources(&self, capture: &Capture) {
        let files = capture.sites().iter().map(|site| &*site.file);
        let files: BTreeSet<&str> = files.filter(|file| !file.is_empty()).collect();
        for file in files {
            let run = self.suite.progress.folder.path();
            let copy = source_file(run, &self.record.name, file);
            // The report also works without files that cannot be copied.
            let _ = copy.parent().map(fs::create_dir_all);
            let _ = fs::copy(self.executables.sources.join(file), copy);
        }
    }

    pub(super) fn fill_totals(&mut self, scan: &CaptureScan, totals: &Totals) {
        let record = &mut self.record;
        record.digest = (!record.in_situ).then(|| scan.digest.to_string());
        record.launches = Some(totals.launches);
        record.ctas = Some(totals.ctas);
        record.threads = Some(totals.threads);
        record.bytes = Some(totals.bytes);
        record.kernels = totals.kernels.clone();
    }

    /// Compares a complete trace with expected counts and the golden result.
    pub(super) fn compare_with_known(&mut self, scan: &CaptureScan) -> Result<(), Failure> {
        if self.record.selection.is_some() {
            self.add_checks([verify::golden_of_partial()]);
        } else {
            let size = &self.suite.progress.summary.size;
            if let Some(expected) = self.case.benchmark.expected.get(size) {
                let totals = verify::steady_totals(scan);
                self.add_checks(verify::expected_counts(expected, &totals, scan));
            }
            self.compare_with_golden(scan)?;
        }
        if self.suite.options.running.require_golden {
            self.add_checks(verify::require_golden(&self.record.verification));
        }
        Ok(())
    }

    pub(super) fn as_golden(&self, scan: &CaptureScan) -> Golden {
        let identity = &self.suite.identity;
        let build = (identity.llvm.as_str(), identity.gpu_arch);
        let shown = match self.record.in_situ {
            // The sums do not show which accesses threads performed while they waited.
            true if scan.has_waits() => Reproducibility::Launches,
            true => Reproducibility::Counts,
            false => Reproducibility::Digests,
        };
        let same = self.record.reproducibility().min(shown);
        let totals = verify::steady_totals(scan);
        Golden::new(scan, &totals, build, &self.record.inputs, same)
    }

    fn compare_with_golden(&mut self, scan: &CaptureScan) -> Result<(), Failure> {
        let (suite, name) = (self.suite, &self.case.benchmark.name);
        let Some(folder) = &suite.options.golden else {
            return Ok(());
        };
        let current = self.as_golden(scan);
        let summary = &suite.progress.summary;
        let path = golden_file(folder, name, &summary.size, summary.backend);
        if suite.options.bless && !self.record.verification.iter().any(Check::failed) {
            current.write(&path)?;
        }
        let golden = Golden::read(&path)?;
        self.add_checks([verify::compare_with_golden(golden.as_ref(), &current, scan)]);
        Ok(())
    }

    fn verdict(&self) -> Result<(), Failure> {
        let checks = self.record.verification.iter();
        let failed: Vec<&Check> = checks.filter(|check| check.failed()).collect();
        let Some(first) = failed.first() else {
            return Ok(());
        };
        let more = match failed.len() {
            1 => String::new(),
            number => format!(" ({number} checks failed in total)"),
        };
        let (name, check, detail) = (&self.record.name, &first.check, &first.detail);
        let checks = &self.record.verification;
        let outside = verify::outside_allocations(checks).filter(|_| verify::faulted(checks));
        let location = outside.map_or(String::new(), |check| {
            format!("\n  traced: {}", check.detail)
        });
        bail!(
            Verification,
            "failed to verify {name}: {check}: {detail}{more}{location}"
        )
    }
}

/// Returns the time and resources of each kernel in both runs, by mangled name.
fn kernel_times(native: &Run, traced: &Run) -> Vec<KernelTime> {
    let (Ok(native), Ok(traced)) = (&native.summary, &traced.summary) else {
        return Vec::new();
    };
    let times = traced.kernels.iter().map(|kernel| {
        let mut native = native.kernels.iter();
        let native = native.find(|other| other.name == kernel.name);
        KernelTime {
            name: kernel.name.clone(),
            launches: kernel.launches,
            native_ns: native.map_or(0, |kernel| kernel.ns),
            traced_ns: kernel.ns,
            native: native.and_then(|kernel| kernel.resources),
            traced: kernel.resources,
        }
    });
    times.collect()
}

fn input_record(input: &InputUsed) -> InputRecord {
    InputRecord {
        name: input.name.display().to_string(),
        sha256: input.sha256.to_string(),
        origin: input.origin.to_string(),
    }
}
