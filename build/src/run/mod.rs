//! Runs one program: in a process group and a folder of its own, with limits, and with a record of how it ended.

mod child;
mod output;
pub(crate) mod proprietary;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use child::die_with_this_process;
pub use child::run;
pub use proprietary::library_path;
pub use superstep_trace::{LaunchCounts, Summary};

#[derive(Debug, Clone)]
pub struct RunSpec {
    pub program: PathBuf,
    pub name: String,
    pub args: Vec<String>,
    pub folder: PathBuf,
    pub environment: Vec<(&'static str, OsString)>,
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    pub timeout: Duration,
    /// Resident memory of its process above which it is ended; `None` for no limit.
    pub memory_limit_bytes: Option<u64>,
    pub output_limit_bytes: u64,
    pub kill: Option<Kill>,
}

#[derive(Debug, Clone)]
pub struct Kill {
    pub file: PathBuf,
    pub after: Duration,
}

pub const OUTPUT_LIMIT_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    OutOfMemory,
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
    pub wall: Duration,
    pub peak_memory_bytes: u64,
    pub stdout_truncated: bool,
    pub stderr_truncated: bool,
}

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
