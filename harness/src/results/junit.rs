//! Writes a run as JUnit XML for CI systems, with one test case per benchmark.

use std::path::Path;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestRerun, TestSuite};
use superstep_analysis::run_summary::{BenchmarkSummary, RunSummary, Status};
use superstep_build::failure::Failure;

pub fn write_junit(path: &Path, summary: &RunSummary) -> Result<(), Failure> {
    let text = report(summary).to_string();
    let text = text.map_err(Failure::io("write", &path))?;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(Failure::io("write", &path))?;
    }
    std::fs::write(path, text).map_err(Failure::io("write", &path))
}

fn report(summary: &RunSummary) -> Report {
    let (name, size, backend) = (&summary.suite, &summary.size, &summary.backend);
    let mut suite = TestSuite::new(format!("{name}.{size}.{backend}"));
    for (name, value) in [
        ("tool", &summary.tool),
        ("device", &summary.device),
        ("complete", &summary.complete.to_string()),
    ] {
        suite.add_property((name, value.as_str()));
    }
    let benchmarks = summary.benchmarks.iter();
    suite.add_test_cases(benchmarks.map(|benchmark| case(summary, benchmark)));
    let mut report = Report::new("superstep");
    report.add_test_suite(suite);
    report
}

fn case(summary: &RunSummary, benchmark: &BenchmarkSummary) -> TestCase {
    let mut status = match benchmark.status {
        Status::Passed => TestCaseStatus::success(),
        Status::Skipped => TestCaseStatus::skipped(),
        Status::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
    };
    if let Some(failure) = &benchmark.failure {
        status.set_type(failure.kind.to_string());
        status.set_message(failure.message.lines().next().unwrap_or_default());
        status.set_description(failure.message.as_str());
    }
    for failure in &benchmark.earlier_attempts {
        let mut rerun = TestRerun::new(NonSuccessKind::Failure);
        rerun.set_type(failure.kind.to_string());
        rerun.set_message(failure.message.as_str());
        status.add_rerun(rerun);
    }
    let mut case = TestCase::new(benchmark.name.as_str(), status);
    case.set_classname(summary.suite.as_str());
    let seconds = benchmark.seconds;
    let runs = [seconds.native, seconds.traced, seconds.counted];
    let total: f64 = runs.into_iter().flatten().sum();
    case.set_time(Duration::try_from_secs_f64(total).unwrap_or_default());
    let not_compared = benchmark.not_compared().map(|why| why.to_string());
    if let Some(why) = &not_compared {
        case.set_system_out(format!("not compared with a golden result: {why}"));
    }
    for (name, value) in [
        ("not_compared", not_compared),
        ("digest", benchmark.digest.clone()),
        ("launches", benchmark.launches.map(|it| it.to_string())),
        ("native_s", seconds.native.map(|value| value.to_string())),
        ("traced_s", seconds.traced.map(|value| value.to_string())),
    ] {
        if let Some(value) = value {
            case.add_property((name, value.as_str()));
        }
    }
    case
}

#[cfg(test)]
mod tests;
