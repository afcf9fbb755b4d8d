//! Repeats the runs of a benchmark to measure how its times vary. The traces must be identical each time.

use std::fs;

use superstep_analysis::run_summary::{Check, Repeats, Seconds, Spread};

use super::SuiteRun;
use super::execute::{Case, Kind, Run};
use crate::capture;
use crate::verify::{self, Golden};
use superstep_build::compile::Executables;
use superstep_build::failure::Failure;

pub(super) struct First<'a> {
    pub native: &'a Run,
    pub traced: &'a Run,
    pub result: Golden,
}

#[derive(Default)]
struct Times {
    wall: Vec<f64>,
    kernel: Vec<f64>,
}

impl Times {
    fn add(&mut self, run: &Run) {
        self.wall.push(run.wall_s());
        self.kernel.extend(run.kernel_s());
    }
}

/// Repeats the untraced and the traced program, compares the captures, and deletes them. A run that differs fails the
/// check.
pub(super) fn run(
    suite: &SuiteRun<'_>,
    case: &Case<'_>,
    executables: &Executables,
    first: &First<'_>,
) -> Result<(Vec<Check>, Repeats), Failure> {
    let name = &case.benchmark.name;
    let (folder, reporter) = (&suite.progress.folder, &suite.session.reporter);
    let count = suite.options.running.repeat;
    let (mut native, mut traced) = (Times::default(), Times::default());
    native.add(first.native);
    traced.add(first.traced);
    let mut checks = Vec::new();
    let mut difference = None;
    for number in 2..=count {
        let run_folder = folder.benchmark(name).join(format!("repeat-{number}"));
        let capture_folder = run_folder.join("capture");
        let capture = Some(capture_folder.as_path());
        for (kind, program, capture, times) in [
            (Kind::Native, &executables.native, None, &mut native),
            (Kind::Traced, &executables.traced, capture, &mut traced),
        ] {
            let what = format!("{name}: {} run {number} of {count}", kind.name());
            let _step = reporter.step(what, None);
            let run = case.execute(kind, program, &run_folder, capture)?;
            run.check_end(case)?;
            let equal =
                verify::outputs_equal(&first.native.files, &run.files, &case.output_checks());
            if !equal.ok {
                checks.push(equal);
            }
            times.add(&run);
        }
        let capture = capture::open(&capture_folder)?;
        let scan = verify::scan(&capture).map_err(capture::failure)?;
        let totals = verify::steady_totals(&scan);
        let result = Golden::new(&scan, &totals, ("", 0), &[], first.result.same);
        let found = first.result.difference(&result, &scan);
        difference = difference.or(found.map(|what| format!("run {number}: {what}")));
        fs::remove_dir_all(&capture_folder).map_err(Failure::io("remove", &capture_folder))?;
    }
    checks.push(match difference {
        None => verify::passed("repeats-agree", format!("{count} runs")),
        Some(difference) => verify::failed("repeats-agree", difference),
    });
    let repeats = Repeats {
        count,
        native: Spread::of(&native.wall),
        traced: Spread::of(&traced.wall),
        native_kernel: Spread::of(&native.kernel),
        traced_kernel: Spread::of(&traced.kernel),
    };
    Ok((checks, repeats))
}

pub(super) fn medians(seconds: &mut Seconds, repeats: &Repeats) {
    let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
    seconds.native = median(repeats.native).or(seconds.native);
    seconds.traced = median(repeats.traced).or(seconds.traced);
    seconds.native_kernel = median(repeats.native_kernel).or(seconds.native_kernel);
    seconds.traced_kernel = median(repeats.traced_kernel).or(seconds.traced_kernel);
}
