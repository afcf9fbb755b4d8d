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

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum End {
    #[error("exited with exit code {0}")]
    Exited(i32),
    /// A status is formatted as `signal: 11 (SIGSEGV)`.
    #[error("was killed by {}", ExitStatus::from_raw(*.0).to_string().replacen(':', "", 1))]
    Signalled(i32),
    #[error("timed out")]
    TimedOut,
    #[error("used too much memory")]
    OutOfMemory,
    #[error("was interrupted")]
    Interrupted,
}

#[derive(Debug, Clone)]
pub struct RunOutcome {
    pub end: End,
    pub wall: Duration,
    pub peak_memory_bytes: u64,
    pub stdout_truncated: bool,
    pub stderr_truncated: bool,
}
