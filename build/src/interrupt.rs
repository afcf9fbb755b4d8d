//! Ctrl-C: the first one asks for an orderly end (the running program is stopped, results so far are written), a second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::exit_code;

/// How much later than a command's end a signal that ended both may be noticed here.
const HANDLER_LATENCY: Duration = Duration::from_millis(300);

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// Catches SIGINT, SIGTERM and SIGHUP from now on. Called once, by `main`.
///
/// # Errors
/// The system refuses, or a handler is there already.
pub fn install() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(exit_code::INTERRUPTED);
        }
    })
}

/// Whether the user asked to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// The same after a command failed: Ctrl-C goes to all processes of the terminal, and a command may end before the handler of this
/// process has run.
pub fn requested_meanwhile() -> bool {
    let failed = Instant::now();
    while !requested() && failed.elapsed() < HANDLER_LATENCY {
        std::thread::sleep(Duration::from_millis(10));
    }
    requested()
}
