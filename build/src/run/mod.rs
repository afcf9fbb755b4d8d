//! Runs one program: in a process group and a folder of its own, with limits, and with a record of how it ended.

mod child;
pub(crate) mod closed;
mod output;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use child::die_with_this_process;
pub use child::run;
pub use closed::library_path;
pub use superstep_trace::{LaunchCounts, Summary};

/// What to run, and how far it may go.
#[derive(Debug, Clone)]
pub struct RunSpec {
    pub program: PathBuf,
    /// What the program sees as its own name.
    pub name: String,
    pub args: Vec<String>,
    /// Its working folder, which must exist.
    pub folder: PathBuf,
    /// Environment variables set besides those of this process.
    pub environment: Vec<(&'static str, OsString)>,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    /// Wall time after which it is ended.
    pub timeout: Duration,
    /// Resident memory of its process above which it is ended; `None` for no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Bytes kept of each of its two outputs.
    pub output_limit_bytes: u64,
    /// When it is killed, for tests of what it leaves then.
    pub kill: Option<Kill>,
}

/// SIGKILL so long after a file appeared.
#[derive(Debug, Clone)]
pub struct Kill {
    pub file: PathBuf,
    pub after: Duration,
}

/// Bytes kept of a program's standard output, and of its standard error.
pub const OUTPUT_LIMIT_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this exit code.
    Exited(i32),
    Signalled(i32),
    /// It was ended because its time was over.
    TimedOut,
    /// It was ended because it used too much memory.
    OutOfMemory,
    /// It was ended because the user asked to stop.
    Interrupted,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exited(code) => write!(f, "ended with exit code {code}"),
            End::Signalled(signal) => {
                write!(f, "was ended by signal {signal}{}", signal_name(*signal))
            }
            End::TimedOut => f.write_str("ran out of time"),
            End::OutOfMemory => f.write_str("used too much memory"),
            End::Interrupted => f.write_str("was interrupted"),
        }
    }
}

#[derive(Debug, Clone)]
pub struct RunOutcome {
    pub end: End,
    /// From the start to the end of the process.
    pub wall: Duration,
    pub peak_memory_bytes: u64,
    /// Whether standard output was longer than what was kept.
    pub stdout_truncated: bool,
    /// Whether standard error was longer than what was kept.
    pub stderr_truncated: bool,
}

/// Why a program could not be run at all.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action} {}: {source}", path.display())]
pub struct RunError {
    action: &'static str,
    path: PathBuf,
    source: std::io::Error,
}

impl RunError {
    fn at(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self {
            action,
            path,
            source,
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGTRAP => " (SIGTRAP)",
        _ => "",
    }
}
