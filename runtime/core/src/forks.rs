//! Handles forks of a traced program. If the parent had not used CUDA before the fork, the child can use it as a
//! separate process. Otherwise, the capture stays with the parent, and CUDA fails in the child.

use crate::Session;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static WATCHED: OnceLock<&'static Session> = OnceLock::new();
static IS_USED_FORK: AtomicBool = AtomicBool::new(false);

/// Returns whether this process was forked from one that had used CUDA, in which case CUDA fails here.
pub fn is_used_fork() -> bool {
    IS_USED_FORK.load(Ordering::Relaxed)
}

/// Registers the fork handlers for `session`.
pub(crate) fn watch(session: &'static Session) {
    if WATCHED.set(session).is_ok() {
        // SAFETY: the handlers are plain functions in this library, which is never unloaded.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    }
}

extern "C" fn before_fork() {
    if let Some(session) = WATCHED.get() {
        session.hold();
    }
}

extern "C" fn in_parent() {
    if let Some(session) = WATCHED.get() {
        // SAFETY: `before_fork` has run on this thread.
        unsafe { session.release() };
    }
}

extern "C" fn in_child() {
    if let Some(session) = WATCHED.get() {
        IS_USED_FORK.fetch_or(session.leave_to_parent(), Ordering::Relaxed);
        // SAFETY: `before_fork` has run on the thread that became this process.
        unsafe { session.release() };
    }
}
