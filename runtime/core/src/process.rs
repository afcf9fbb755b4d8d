//! The identity of this process, and its capture's header.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use superstep_trace::{Backend, DeviceInfo, Header, Process};

pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// Returns `path` with [`Process::PLACE`] replaced by the name of `process`, or `None` if it has no placeholder.
pub(crate) fn path_of(path: &Path, process: &Process) -> Option<PathBuf> {
    let text = path.to_str().filter(|text| text.contains(Process::PLACE))?;
    Some(text.replace(Process::PLACE, &process.to_string()).into())
}

/// The identity of this process, which a fork changes.
#[derive(Debug)]
pub(crate) struct Identity {
    rank: Option<u32>,
    /// ID of the process that loaded the runtime.
    loaded_by: u32,
    /// The ID of the process for which `settle` chose a name, and the number of earlier programs with that ID.
    settled: Mutex<(u32, u32)>,
}

impl Identity {
    /// Environment variables for the process's rank, set by Open MPI, PMIx, PMI (MPICH, Intel MPI), MVAPICH and SLURM.
    const RANKS: [&str; 5] = [
        "OMPI_COMM_WORLD_RANK",
        "PMIX_RANK",
        "PMI_RANK",
        "MV2_COMM_WORLD_RANK",
        "SLURM_PROCID",
    ];

    pub fn new(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let mut ranks = Self::RANKS
            .iter()
            .filter_map(|name| lookup(name)?.parse().ok());
        Self {
            rank: ranks.next(),
            loaded_by: std::process::id(),
            settled: Mutex::default(),
        }
    }

    pub fn process(&self) -> Process {
        let pid = std::process::id();
        let settled = *self.settled.lock();
        Process {
            rank: self.rank,
            pid,
            earlier: if settled.0 == pid { settled.1 } else { 0 },
        }
    }

    /// Returns the configured `path` for this process. A forked process must not write to its parent's path.
    pub fn path(&self, path: &Path) -> PathBuf {
        let process = self.process();
        path_of(path, &process).unwrap_or_else(|| {
            let mut own = path.as_os_str().to_owned();
            if self.is_fork() {
                own.push(format!(".{process}"));
            }
            own.into()
        })
    }

    /// Gives this process an unused name before it writes anything: an earlier program may have had the same ID and
    /// passed it on with `exec`.
    pub fn settle(&self, is_taken: impl Fn(&Process) -> bool) {
        let own = self.process();
        let mut settled = self.settled.lock();
        if settled.0 != own.pid {
            let is_free = |&earlier: &u32| !is_taken(&Process { earlier, ..own });
            *settled = (own.pid, (0..u32::MAX).find(is_free).unwrap_or_default());
        }
    }

    /// Returns whether another process loaded the runtime.
    pub fn is_fork(&self) -> bool {
        std::process::id() != self.loaded_by
    }
}

pub(crate) fn header(backend: Backend, device: DeviceInfo, start_unix_ns: u64) -> Header {
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let command_line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    Header {
        program: program.to_string_lossy().into_owned(),
        arguments: arguments(&command_line),
        device,
        start_unix_ns,
        ..Header::new(backend)
    }
}

fn arguments(command_line: &[u8]) -> Vec<String> {
    let trimmed = command_line.strip_suffix(b"\0").unwrap_or(command_line);
    trimmed
        .split(|&byte| byte == 0)
        .skip(1)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

pub(crate) fn unix_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
