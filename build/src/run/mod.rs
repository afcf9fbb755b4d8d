//! Runs one program in its own process group and folder, with limits, and records how it ended.

mod child;
mod output;
pub(crate) mod proprietary;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
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
    /// Resident memory above which the process is killed; `None` for no limit.
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
            End::Exited(code) => write!(f, "exited with exit code {code}"),
            End::Signalled(signal) => {
                // `signal: 11 (SIGSEGV)`
                let status = ExitStatus::from_raw(*signal).to_string();
                write!(f, "was killed by {}", status.replacen(':', "", 1))
            }
            End::TimedOut => f.write_str("timed out"),
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
