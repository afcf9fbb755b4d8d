//! Checks that an analysis ends promptly when it is interrupted, in each of its phases.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use superstep_analysis::communication::{MemoryLimit, Options};
use superstep_analysis::{Analysis, AnalysisError, analyse_within};
use superstep_testing::synthetic::{self, Pattern};
use superstep_trace::{Cancellation, Capture, TraceError};

/// Words in the only launch, which is so large that the engine keeps working long after its chunks are read.
const WORDS: u64 = 1 << 21;

/// Analyses a large capture, interrupts the analysis after reading `share` of it, and returns how long it kept running.
fn interrupted_at(
    share: f64,
    stop: &'static AtomicBool,
) -> (Result<Analysis, AnalysisError>, Duration) {
    let folder = tempfile::tempdir().unwrap();
    synthetic::write(folder.path(), 1, WORDS, |_| Pattern::Scattered).unwrap();
    let mut capture = Capture::open(folder.path()).unwrap();
    capture.cancellation = Cancellation::by(stop);
    let threshold = (capture.access_bytes() as f64 * share) as u64;
    let progress = capture.progress.clone();
    let analysis = std::thread::spawn(move || {
        let result = analyse_within(&capture, Options::everything(), &MemoryLimit::none());
        (result, Instant::now())
    });
    while progress.read_bytes() < threshold && !analysis.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
    }
    stop.store(true, Ordering::SeqCst);
    let stopped = Instant::now();
    let (result, ended) = analysis.join().unwrap();
    (result, ended.saturating_duration_since(stopped))
}

#[test]
fn an_interrupted_analysis_ends_within_two_seconds() {
    static READING: AtomicBool = AtomicBool::new(false);
    static WORKING: AtomicBool = AtomicBool::new(false);
    for (share, stop) in [(0.05, &READING), (1.0, &WORKING)] {
        let (result, delay) = interrupted_at(share, stop);
        assert!(
            matches!(result, Err(AnalysisError::Trace(TraceError::Interrupted))),
            "{share} of the capture was read: {result:?}"
        );
        assert!(delay < Duration::from_secs(2), "{share}: {delay:?}");
    }
}
