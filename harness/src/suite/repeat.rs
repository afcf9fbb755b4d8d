//! Repeats the runs of a benchmark to measure how its times vary. The traces must be identical each time.

use std::fs;

use superstep_analysis::run_summary::{Repeats, Seconds, Spread};

use super::benchmark::{Attempt, Runs};
use super::execute::{Kind, Run};
use crate::capture;
use crate::verify::{self, Golden};
use superstep_build::failure::Failure;

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

impl Attempt<'_> {
    /// Repeats the untraced and the traced program, compares the captures with the `first` one, and deletes them. A run
    /// that differs fails the check.
    pub(super) fn repeat(&mut self, runs: &Runs, first: &Golden) -> Result<(), Failure> {
        let (case, executables) = (self.case, self.executables);
        let count = self.suite.options.running.repeat;
        let (mut native, mut traced) = (Times::default(), Times::default());
        native.add(&runs.native);
        traced.add(&runs.traced);
        let mut difference = None;
        for number in 2..=count {
            let folder = self.folder().join(format!("repeat-{number}"));
            let capture_folder = folder.join("capture");
            let capture = Some(capture_folder.as_path());
            for (kind, program, capture, times) in [
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
                times.add(&run);
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
        let repeats = Repeats {
            count,
            native: Spread::of(&native.wall),
            traced: Spread::of(&traced.wall),
            native_kernel: Spread::of(&native.kernel),
            traced_kernel: Spread::of(&traced.kernel),
        };
        medians(&mut self.record.seconds, &repeats);
        self.record.repeats = Some(repeats);
        Ok(())
    }
}

fn medians(seconds: &mut Seconds, repeats: &Repeats) {
    let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
    seconds.native = median(repeats.native).or(seconds.native);
    seconds.traced = median(repeats.traced).or(seconds.traced);
    seconds.native_kernel = median(repeats.native_kernel).or(seconds.native_kernel);
    seconds.traced_kernel = median(repeats.traced_kernel).or(seconds.traced_kernel);
}
