//! Handles Ctrl-C. The first press requests an orderly shutdown: the running program is stopped, and the results
//! so far are written. If that takes longer than [`GRACE`], or Ctrl-C is pressed again, the process exits immediately,
//! which is safe because files that others read are replaced atomically.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use superstep_trace::Cancellation;

use crate::exit_code;

const GRACE: Duration = Duration::from_millis(1500);

/// Maximum delay between the exit of a command stopped by Ctrl-C and the call to this process's handler.
const HANDLER_LATENCY: Duration = Duration::from_millis(300);

static REQUESTED: AtomicBool = AtomicBool::new(false);

pub fn install() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(exit_code::INTERRUPTED);
        }
        std::thread::spawn(|| {
            std::thread::sleep(GRACE);
            eprintln!("error: interrupted");
            std::process::exit(exit_code::INTERRUPTED);
        });
    })
}

pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// Like [`requested`], for use after a command has failed: Ctrl-C goes to all processes in the terminal, and a command
/// can exit before this process's handler has run.
pub fn requested_after_failure() -> bool {
    let failed = Instant::now();
    while !requested() && failed.elapsed() < HANDLER_LATENCY {
        std::thread::sleep(Duration::from_millis(10));
    }
    requested()
}

/// Returns a cancellation token for reading captures, triggered by Ctrl-C.
pub fn cancellation() -> Cancellation {
    Cancellation::by(&REQUESTED)
}
