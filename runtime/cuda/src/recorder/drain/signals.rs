//! When a program ends without running its exit handlers, writes the data that its kernels have sent to the host.
//!
//! Nothing in a stream waits for the consumers and the monitor, so they may lag behind when the program calls `_exit`,
//! or `abort` right after a synchronisation. For signals that have their default action, our handler waits for these
//! threads and then raises the signal again. `interpose::ends` waits before the process ends or calls `exec`. Both
//! waits may take place in one of the program's signal handlers.

use crate::recorder::runtime::STALL;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Number of launches that are not yet written. A traced launch counts twice, for its records and for its completion.
pub static OPEN_LAUNCHES: AtomicI64 = AtomicI64::new(0);
/// A number that changes whenever a stream or the monitor makes progress.
pub static PROGRESS: AtomicU64 = AtomicU64::new(0);

/// The process whose monitor runs; processes forked from it have no monitor.
pub static MONITORED: AtomicI32 = AtomicI32::new(0);
/// Whether the monitor still has data to write once all launches have been written.
pub static HAS_REST: AtomicBool = AtomicBool::new(false);
/// Whether the monitor has been asked to write its remaining data.
pub static REST_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Time without progress after which a dying program no longer waits for open launches.
const DYING_STALL: Duration = Duration::from_millis(500);

const SIGNALS: [c_int; 7] = [
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTERM,
    libc::SIGINT,
];

/// Waits until all launches are written, or until there is no progress for `stall`. Async-signal-safe: uses only
/// atomics, the clock and sleeps.
pub fn wait(stall: Duration) {
    // SAFETY: getpid takes no arguments and always succeeds.
    if MONITORED.load(Ordering::Acquire) != unsafe { libc::getpid() } {
        return;
    }
    let is_open = || OPEN_LAUNCHES.load(Ordering::Acquire) > 0;
    let progress = || PROGRESS.load(Ordering::Relaxed);
    if !wait_while(is_open, progress, stall) || !HAS_REST.load(Ordering::Acquire) {
        return;
    }
    REST_REQUESTED.store(true, Ordering::Release);
    let is_pending = || REST_REQUESTED.load(Ordering::Acquire);
    wait_while(is_pending, progress, stall);
}

/// Waits while `is_open` returns `true`. Returns `false` if `progress` has returned the same number for `stall`.
pub fn wait_while(is_open: impl Fn() -> bool, progress: impl Fn() -> u64, stall: Duration) -> bool {
    let (mut last, mut since) = (progress(), Instant::now());
    while is_open() {
        std::thread::sleep(Duration::from_millis(1));
        let now = progress();
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() >= stall {
            return false;
        }
    }
    true
}

unsafe extern "C" {
    fn at_quick_exit(handler: extern "C" fn()) -> c_int;
}

extern "C" fn wait_before_quick_exit() {
    wait(STALL);
}

extern "C" fn wait_and_die(signal: c_int) {
    wait(DYING_STALL);
    // SAFETY: the default action has been restored (SA_RESETHAND), and takes effect when this function returns.
    unsafe { libc::raise(signal) };
}

/// Handles `quick_exit` and signals that have their default action. The program may still install its own handlers.
pub fn install() {
    // SAFETY: the handler is a plain function of this library, which is never unloaded.
    unsafe { at_quick_exit(wait_before_quick_exit) };
    for signal in SIGNALS {
        // SAFETY: the structure is plain data for which zeroes are valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: this only reads the current action.
        let result = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
        if result != 0 || action.sa_sigaction != libc::SIG_DFL {
            continue;
        }
        action.sa_sigaction = wait_and_die as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESETHAND;
        // SAFETY: the handler is async-signal-safe, and its library is never unloaded.
        unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) };
    }
}

/// Blocks signals in the calling thread, which belongs to this library; a handler that waits for the thread must not
/// run in it.
pub fn block() {
    // SAFETY: the set is filled before it is used.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &all, std::ptr::null_mut());
    }
}
