//! Ctrl-C: the first one asks for an orderly end (the running program is stopped, results so far are written). When that takes
//! longer than [`GRACE`], or at a second one, the process just ends: files that others read are replaced in one step.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use superstep_trace::Cancellation;

use crate::exit_code;

const GRACE: Duration = Duration::from_millis(1500);

/// How much later than a command's end a signal that ended both may be noticed here.
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

/// [`requested`] for use after a command failed: Ctrl-C goes to all processes of the terminal, and a command may end before the handler of
/// this process has run.
pub fn requested_meanwhile() -> bool {
    let failed = Instant::now();
    while !requested() && failed.elapsed() < HANDLER_LATENCY {
        std::thread::sleep(Duration::from_millis(10));
    }
    requested()
}

/// Ends the reading of a capture when the user asks to stop.
pub fn cancellation() -> Cancellation {
    Cancellation::by(&REQUESTED)
}
