//! Ctrl-C: the first one asks for an orderly end (the running program is stopped, results so far are written), a second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit_code;

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
