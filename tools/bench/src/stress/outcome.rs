//! Judges the results of a case.

use std::path::Path;

use superstep_analysis::scan;
use superstep_build::failure::Failure;
use superstep_build::run::End;
use superstep_harness::capture_failure;
use superstep_trace::{Capture, LaunchDigest, LaunchOutcome, Summary};

use super::cases::Case;
use crate::run::RunOutput;

#[derive(Debug, Default)]
pub struct CaptureTotals {
    pub launches: usize,
    /// Number of completed launches with all the accesses that their end events announce.
    pub whole_launches: usize,
    pub accesses: u64,
    /// Number of rows in the transfer table, if accesses were aggregated in situ.
    pub transfers: usize,
    pub complete: bool,
    pub fingerprints: Vec<Fingerprint>,
}

/// Properties of a launch that must not differ between runs: the digest of its accesses, or, in situ, the threads and
/// bytes of its loads, stores and atomics.
pub type Fingerprint = (LaunchDigest, Option<[(u64, u64); 3]>);

pub fn read(folder: &Path) -> Result<CaptureTotals, Failure> {
    let capture = Capture::open(folder).map_err(capture_failure)?;
    let mut found = CaptureTotals {
        transfers: capture.launches().map(|record| record.received.len()).sum(),
        complete: capture.complete,
        ..CaptureTotals::default()
    };
    for launch in scan::scan(&capture).map_err(capture_failure)?.launches {
        let accesses = launch.thread_accesses();
        let is_whole = launch.end.is_some_and(|end| {
            end.outcome == LaunchOutcome::Completed && end.thread_accesses == accesses
        });
        let sums = launch.sums.map(|sums| {
            [sums.loads, sums.stores, sums.atomics].map(|tally| (tally.threads, tally.bytes))
        });
        found.launches += 1;
        found.whole_launches += usize::from(is_whole);
        found.accesses += accesses;
        found.fingerprints.push((launch.digest, sums));
    }
    Ok(found)
}

/// Returns the problems with a run. `native` is the untraced run.
pub fn problems(
    case: &Case,
    output: &RunOutput,
    native: Option<&RunOutput>,
    summary: Option<&Summary>,
    found: &Result<CaptureTotals, Failure>,
) -> Vec<String> {
    if output.end == End::TimedOut {
        return vec!["it timed out".to_owned()];
    }
    let mut problems = Vec::new();
    if case.end.is_some_and(|end| end != output.end) {
        let last = output.stdout.lines().chain(output.stderr.lines()).last();
        problems.push(format!("{}: {}", output.end, last.unwrap_or_default()));
    }
    if let Some(native) = native.filter(|_| case.end.is_some())
        && native.end != output.end
    {
        problems.push(format!("it {}, but untraced it {}", output.end, native.end));
    }
    if case.end == Some(End::Exited(0)) && !output.stdout.contains("PASSED") {
        problems.push("the program reports wrong results".to_owned());
    }
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            problems.push(format!("the capture cannot be read: {error}"));
            return problems;
        }
    };
    let (whole, all) = (found.whole_launches, found.launches);
    if whole < case.min_whole_launches {
        problems.push(format!(
            "{whole} whole launches instead of at least {}",
            case.min_whole_launches
        ));
    }
    if case.transfers && found.transfers == 0 {
        problems.push("no transfers".to_owned());
    }
    if case.complete.is_some_and(|wanted| wanted != found.complete) {
        problems.push(format!("complete: {}", found.complete));
    }
    if case.exact {
        let announced = (output.stdout.lines()).find_map(|line| {
            line.strip_prefix("expected-accesses: ")?
                .parse::<u64>()
                .ok()
        });
        match announced {
            Some(expected) if expected == found.accesses => {}
            Some(expected) => problems.push(format!("{} accesses, not {expected}", found.accesses)),
            None => problems.push("the program did not print its number of accesses".to_owned()),
        }
        if whole != all {
            problems.push(format!("{whole} of {all} launches are whole"));
        }
    }
    match summary {
        Some(summary) => check_messages(case, summary, &mut problems),
        None if matches!(case.end, None | Some(End::Signalled(_))) => {}
        None => problems.push("there is no summary".to_owned()),
    }
    problems
}

/// Compares the summary with the expected fault and warning.
fn check_messages(case: &Case, summary: &Summary, problems: &mut Vec<String>) {
    for (kind, expected, lines) in [
        ("fault", case.fault, &summary.faults),
        ("warning", case.warning, &summary.warnings),
    ] {
        if let Some(text) = expected.filter(|text| !lines.iter().any(|line| line.contains(text))) {
            problems.push(format!("no {kind} contains {text:?}"));
        }
    }
    if case.fault.is_none() && case.end.is_some() {
        problems.extend(summary.faults.first().cloned());
        let (lost, stray) = (summary.records_lost, summary.bad_addresses);
        if lost > 0 {
            problems.push(format!("{lost} accesses lost"));
        }
        if stray > 0 {
            problems.push(format!("{stray} accesses outside every allocation"));
        }
    }
}
