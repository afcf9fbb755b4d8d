//! Checks the runtime's summaries and the completeness of captures.

use superstep_analysis::run_summary::Check;
use superstep_trace::{AllocationKind, Capture, Gap, HostEvent, Outcome, Process};

use super::{failed, passed, warned};
use superstep_build::run::Summary;

const FAULTS: &str = "no-faults";

/// A run without the runtime's summary.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub enum NoSummary {
    #[error("the program left no summary because it did not exit normally")]
    Program,
    #[error("{0} left no summary because it did not exit normally")]
    Process(Process),
}

pub fn faulted(checks: &[Check]) -> bool {
    let mut faults = checks.iter().filter(|check| check.check == FAULTS);
    faults.any(Check::failed)
}

/// Checks that a runtime shut down properly and lost no records.
pub fn check_runtime(run: &str, summary: &Result<Summary, NoSummary>) -> Vec<Check> {
    const LOST: &str = "nothing-lost";
    let summary = match summary {
        Ok(summary) => summary,
        Err(why) => {
            let text = format!("{run}: {why}; the runtime did not shut down properly");
            return vec![failed(FAULTS, text)];
        }
    };
    let faults = match summary.faults.as_slice() {
        [] => passed(FAULTS, format!("{run}: {} launches", summary.launches)),
        [first, rest @ ..] => failed(FAULTS, format!("{run}: {first}{}", and_more(rest))),
    };
    let (lost, stray) = (summary.records_lost, summary.bad_addresses);
    let lost = if lost > 0 {
        failed(LOST, format!("{run}: {lost} records were lost"))
    } else if stray > 0 {
        failed(
            LOST,
            format!("{run}: {stray} accesses outside all allocations"),
        )
    } else {
        passed(LOST, run)
    };
    vec![faults, lost]
}

/// Reports a program that launched no kernels; for a benchmark, this is a failure.
pub fn launched(summary: &Summary, is_benchmark: bool) -> Option<Check> {
    const NAME: &str = "kernel-launches";
    const NONE: &str = "the program launched no kernel: there is nothing to trace, and only its output and exit code were checked; if it \
                        should launch kernels, check its arguments and inputs, and whether the programs that it starts inherit its \
                        environment variables";
    let has_launched = summary.launches > 0 || !summary.opaque.is_empty();
    match (has_launched, is_benchmark) {
        (true, _) => None,
        (false, true) => Some(failed(NAME, NONE)),
        (false, false) => Some(warned(NAME, NONE)),
    }
}

fn and_more(rest: &[String]) -> String {
    match rest.len() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// Checks that the capture is complete and that its program finished properly.
pub fn capture_complete(capture: &Capture) -> Check {
    const NAME: &str = "capture-complete";
    match (&capture.outcome, capture.problems.as_slice()) {
        (Some(Outcome::Failed(why)), _) => {
            failed(NAME, format!("the traced program failed: {why}"))
        }
        (_, [first, rest @ ..]) => failed(NAME, format!("{first}{}", and_more(rest))),
        (None, []) => failed(NAME, "the capture is incomplete: its end record is missing"),
        (Some(Outcome::Finished), []) => {
            passed(NAME, format!("{} launches", capture.launches().count()))
        }
    }
}

pub fn shared_memory(capture: &Capture) -> Option<Check> {
    let mut steps = capture.replay().map(|timed| timed.event);
    let is_shared = steps.any(|step| step == HostEvent::Gap(&Gap::SharedMemory));
    let imported = (capture.allocations().iter())
        .filter(|allocation| allocation.kind == AllocationKind::Imported)
        .count();
    let text = format!(
        "{}; {imported} allocations belong to other processes",
        Gap::SharedMemory
    );
    is_shared.then(|| warned("shared-memory", text))
}

pub fn opaque_assembly(capture: &Capture) -> Option<Check> {
    let pieces: u32 = capture.modules.iter().map(|m| m.opaque_assembly).sum();
    let text = format!(
        "{pieces} pieces of inline PTX could not be traced: the trace lacks their accesses"
    );
    (pieces > 0).then(|| passed("opaque-asm", text))
}
