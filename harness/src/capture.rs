//! Opens captures, and converts read errors to command failures.

use std::path::Path;

use superstep_analysis::AnalysisError;
use superstep_export::ExportError;
use superstep_trace::{Capture, TraceError};

use superstep_build::failure::{Failure, FailureKind};
use superstep_build::{exit_code, interrupt};

/// Opens the capture at `path`; Ctrl-C cancels reading.
pub fn open(path: &Path) -> Result<Capture, Failure> {
    let mut capture = Capture::open(path).map_err(failure)?;
    capture.cancellation = interrupt::cancellation();
    Ok(capture)
}

/// Reports missing parts of the capture on standard error, and returns the exit code.
pub fn conclude(capture: &Capture) -> i32 {
    if capture.damaged {
        for problem in &capture.problems {
            eprintln!("error: {problem}");
        }
        exit_code::CAPTURE
    } else if capture.complete {
        exit_code::OK
    } else {
        eprintln!("warning: the capture is incomplete; only the existing part was read:");
        for problem in &capture.problems {
            eprintln!("  {problem}");
        }
        exit_code::CAPTURE_INCOMPLETE
    }
}

/// Converts an error to a failure with a kind that distinguishes damaged captures, misuse and internal errors.
pub fn failure(error: impl Into<ExportError>) -> Failure {
    let error = error.into();
    let kind = match &error {
        ExportError::Trace(error) | ExportError::Analysis(AnalysisError::Trace(error)) => {
            kind(error)
        }
        ExportError::Analysis(AnalysisError::TooLarge { .. } | AnalysisError::Mixed { .. })
        | ExportError::Line { .. } => FailureKind::Capture,
        ExportError::NoTimes(_)
        | ExportError::Choice { .. }
        | ExportError::Analysis(AnalysisError::NeedsTrace { .. }) => FailureKind::Usage,
        ExportError::Analysis(_) | ExportError::File(_) | ExportError::LostThread => {
            FailureKind::Internal
        }
    };
    Failure::new(kind, error.to_string())
}

fn kind(error: &TraceError) -> FailureKind {
    match error {
        TraceError::NotACapture { .. }
        | TraceError::Damaged { .. }
        | TraceError::FormatVersion { .. }
        | TraceError::Table { .. }
        | TraceError::UnknownSite { .. }
        | TraceError::Unreadable { .. } => FailureKind::Capture,
        TraceError::Export { .. } | TraceError::MultipleCaptures { .. } => FailureKind::Usage,
        TraceError::Interrupted => FailureKind::Interrupted,
        TraceError::Io { .. }
        | TraceError::Encode { .. }
        | TraceError::DiskFull { .. }
        | TraceError::WriterStopped { .. }
        | TraceError::InUse { .. }
        | TraceError::Busy => FailureKind::Internal,
    }
}
