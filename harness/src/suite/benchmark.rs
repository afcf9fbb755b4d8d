//! One benchmark: three runs, then the verification and the analysis of what they left.

use std::path::Path;

use superstep_report::run_summary::{
    BenchmarkSummary, Check, InputRecord, KernelTime, Same, Seconds, Status,
};
use superstep_trace::Capture;

use super::execute::{Case, Kind, Run};
use super::{BuildIdentity, analyse, failed, golden_file, repeat};
use crate::capture;
use crate::results::{Reporter, RunFolder};
use crate::verify::{self, Golden, Totals};
use superstep_build::compile::Executables;
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::inputs::Origin;

/// Runs, verifies and analyses one benchmark. Returns its record and the name of the device.
pub(super) fn run(
    case: &Case<'_>,
    executables: &Executables,
    identity: &BuildIdentity,
    folder: &RunFolder,
    reporter: &Reporter,
) -> (BenchmarkSummary, Option<String>) {
    let mut record = BenchmarkSummary {
        name: case.benchmark.name.clone(),
        title: case.benchmark.title.clone(),
        deterministic: case.same() == Same::Digests,
        same: Some(case.same()),
        ..BenchmarkSummary::default()
    };
    let mut device = None;
    if let Err(failure) = fill(
        case,
        executables,
        identity,
        folder,
        reporter,
        &mut record,
        &mut device,
    ) {
        record.status = match failure.kind {
            FailureKind::Interrupted => Status::Skipped,
            _ => Status::Failed,
        };
        record.failure = failed(case.benchmark, failure).failure;
    }
    (record, device)
}

fn fill(
    case: &Case<'_>,
    executables: &Executables,
    identity: &BuildIdentity,
    folder: &RunFolder,
    reporter: &Reporter,
    record: &mut BenchmarkSummary,
    device: &mut Option<String>,
) -> Result<(), Failure> {
    let name = &case.benchmark.name;
    let place = folder.benchmark(name);
    let capture_folder = folder.capture(name);

    reporter.doing(format!("{name}: running untraced"));
    let native = case.execute(Kind::Native, &executables.native, &place, None)?;
    record.inputs = native.inputs.iter().map(input_record).collect();
    record.seconds.native = Some(native.outcome.wall.as_secs_f64());
    record.verification.extend(verify::check_manifest(
        &native.files,
        &case.benchmark.checks,
    ));
    if let Some(failure) = native.failure(case) {
        return Err(failure);
    }
    if let Ok(summary) = &native.summary {
        *device = Some(summary.device.name.clone());
    }

    reporter.doing(format!("{name}: running traced"));
    let traced = case.execute(
        Kind::Traced,
        &executables.traced,
        &place,
        Some(&capture_folder),
    )?;
    record.seconds.traced = Some(traced.outcome.wall.as_secs_f64());
    record.verification.extend(verify::check_manifest(
        &traced.files,
        &case.benchmark.checks,
    ));
    if let Some(failure) = traced.failure(case) {
        return Err(failure);
    }

    reporter.doing(format!("{name}: counting"));
    let counted = case.execute(Kind::Counted, &executables.counted, &place, None)?;
    record.seconds = seconds(&native, &traced, &counted);
    record.kernel_times = kernel_times(&native, &traced);
    if let Some(failure) = counted.failure(case) {
        return Err(failure);
    }
    for run in [&traced, &counted] {
        let equal = verify::outputs_equal(&native.files, &run.files, &case.output_checks());
        record.verification.push(equal);
    }
    for run in [&native, &traced, &counted] {
        record
            .verification
            .extend(verify::check_runtime(run.files.name, &run.summary));
    }

    reporter.doing(format!("{name}: verifying"));
    let capture = capture::open(&capture_folder)?;
    record.capture_bytes = Some(capture.stored_bytes().map_err(capture::failure)?);
    let totals = verify_capture(case, &capture, &counted, identity, record)?;
    if case.options.running.require_golden {
        let required = verify::require_golden(&record.verification);
        record.verification.extend(required);
    }
    if case.options.running.repeats > 1 {
        let first = repeat::First {
            native: &native,
            traced: &traced,
            digest: record.digest.clone().unwrap_or_default(),
            totals: &totals,
        };
        let (checks, repeats) = repeat::run(case, executables, folder, reporter, &first)?;
        record.verification.extend(checks);
        repeat::medians(&mut record.seconds, &repeats);
        record.repeats = Some(repeats);
    }

    reporter.doing(format!("{name}: analysing"));
    let sources = executables.sources.as_deref();
    let warnings = (traced.summary.as_ref()).map_or(&[][..], |summary| &summary.warnings);
    analyse::benchmark(
        &capture,
        sources,
        warnings,
        &folder.tables(name),
        case.options,
        record,
    )?;
    let wrong: Vec<&Check> = record
        .verification
        .iter()
        .filter(|check| check.failed())
        .collect();
    if let Some(first) = wrong.first() {
        let more = if wrong.len() > 1 {
            format!(" ({} checks failed in all)", wrong.len())
        } else {
            String::new()
        };
        let message = format!(
            "failed to verify {name}: {}: {}{more}",
            first.check, first.detail
        );
        return Err(Failure::new(FailureKind::Verification, message));
    }
    if !case.options.keep_captures {
        remove_capture(&capture_folder)?;
    }
    record.status = Status::Passed;
    Ok(())
}

fn verify_capture(
    case: &Case<'_>,
    capture: &Capture,
    counted: &Run,
    identity: &BuildIdentity,
    record: &mut BenchmarkSummary,
) -> Result<Totals, Failure> {
    let sites = capture.sites();
    for kernel in &mut record.kernel_times {
        kernel.name = sites.display_name(&kernel.name).to_owned();
    }
    record.verification.push(verify::capture_complete(capture));
    record.verification.extend(verify::opaque_assembly(capture));
    let scan = verify::scan(capture).map_err(capture::failure)?;
    record.verification.extend(scan.checks(sites));
    let counts = counted
        .summary
        .as_ref()
        .ok()
        .and_then(|summary| summary.counts.as_deref());
    record
        .verification
        .push(verify::counts_equal(&scan, sites, counts, record.same()));
    let totals = verify::totals(&scan, sites);
    if let Some(selection) = verify::selection_of(capture) {
        let (check, summary) =
            verify::check_selection(capture, &scan, selection).map_err(capture::failure)?;
        record.verification.push(check);
        record.verification.push(verify::golden_is_whole());
        record.selection = Some(summary);
        record.digest = Some(scan.digest.to_string());
        take_totals(record, totals.clone());
        return Ok(totals);
    }
    let size = case
        .options
        .size
        .as_ref()
        .unwrap_or(&case.suite.default_size);
    if let Some(expected) = case.benchmark.expected.get(size) {
        record
            .verification
            .extend(verify::expected_counts(expected, &totals, &scan, sites));
    }
    let now = Golden::new(
        &scan,
        &totals,
        (&identity.llvm, identity.gpu_arch),
        &record.inputs,
        record.same(),
    );
    if let Some(folder) = &case.options.golden {
        let path = golden_file(folder, &case.suite.name, &case.benchmark.name, size);
        let sound = !record.verification.iter().any(Check::failed);
        if case.options.bless && sound {
            now.write(&path)?;
        }
        let golden = Golden::read(&path)?;
        let check = verify::compare_with_golden(golden.as_ref(), &now, &scan, sites);
        record.verification.push(check);
    }
    record.digest = Some(scan.digest.to_string());
    take_totals(record, totals.clone());
    Ok(totals)
}

fn take_totals(record: &mut BenchmarkSummary, totals: Totals) {
    record.launches = Some(totals.launches);
    record.ctas = Some(totals.ctas);
    record.threads = Some(totals.threads);
    record.bytes = Some(totals.bytes);
    record.kernels = totals.kernels;
}

fn seconds(native: &Run, traced: &Run, counted: &Run) -> Seconds {
    let wall = |run: &Run| Some(run.outcome.wall.as_secs_f64());
    let kernel = |run: &Run| {
        run.summary
            .as_ref()
            .ok()
            .map(|summary| summary.kernel_ns as f64 / 1e9)
    };
    Seconds {
        native: wall(native),
        traced: wall(traced),
        counted: wall(counted),
        native_kernel: kernel(native),
        traced_kernel: kernel(traced),
    }
}

/// Time and resources of each kernel in both runs, by mangled name; `verify_capture` puts readable names there.
fn kernel_times(native: &Run, traced: &Run) -> Vec<KernelTime> {
    let (Ok(native), Ok(traced)) = (&native.summary, &traced.summary) else {
        return Vec::new();
    };
    let times = traced.kernels.iter().map(|kernel| {
        let before = native
            .kernels
            .iter()
            .find(|other| other.name == kernel.name);
        KernelTime {
            name: kernel.name.clone(),
            launches: kernel.launches,
            native_ns: before.map_or(0, |before| before.ns),
            traced_ns: kernel.ns,
            native: before.and_then(|before| before.resources),
            traced: kernel.resources,
        }
    });
    times.collect()
}

fn input_record(input: &superstep_build::inputs::InputUsed) -> InputRecord {
    let origin = match input.origin {
        Origin::Shipped => "shipped",
        Origin::Mirror => "mirror",
        Origin::Downloaded => "downloaded",
        Origin::Generated => "generated",
    };
    InputRecord {
        name: input.name.display().to_string(),
        sha256: input.sha256.to_string(),
        origin: origin.to_owned(),
    }
}

fn remove_capture(folder: &Path) -> Result<(), Failure> {
    std::fs::remove_dir_all(folder)
        .map_err(|error| Failure::internal(format_args!("remove {}", folder.display()), error))
}
