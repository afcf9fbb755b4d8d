//! A process of a program, and the folder with the captures of all its processes.

use crate::capture::writer::EVENTS_FILE;
use crate::error::{Result, TraceError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A process of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Rank from a launcher such as mpirun; `None` without a launcher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    pub pid: u32,
    /// Number of earlier programs in the same process, which replaced themselves with `exec`.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub earlier: u32,
}

impl Process {
    /// Placeholder for the process's name in a path.
    pub const PLACE: &str = "{process}";
}

/// Name of the process's folder: `rank-2-pid-4711` or `pid-4711`; `pid-4711-2` for the second program in the process.
impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(rank) = self.rank {
            write!(f, "rank-{rank}-")?;
        }
        write!(f, "pid-{}", self.pid)?;
        match self.earlier {
            0 => Ok(()),
            earlier => write!(f, "-{}", u64::from(earlier) + 1),
        }
    }
}

/// Returns the captures in `path`: `path` itself, those of multiple processes, ordered by rank, or those in the folder of a
/// program's run or of a whole run.
pub fn captures_in(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() || path.join(EVENTS_FILE).is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let (of_program, of_run) = (path.join("capture"), path.join("benchmarks"));
    if of_program.is_dir() {
        return captures_in(&of_program);
    }
    let is_run = of_run.is_dir();
    let parent = if is_run { &of_run } else { path };
    let mut captures = Vec::new();
    for entry in std::fs::read_dir(parent).map_err(TraceError::unreadable(parent))? {
        let folder = entry.map_err(TraceError::unreadable(parent))?.path();
        if is_run && folder.is_dir() {
            captures.extend(captures_in(&folder)?);
        } else if folder.join(EVENTS_FILE).is_file() {
            captures.push(folder);
        }
    }
    if is_run {
        captures.sort();
        return Ok(captures);
    }
    captures.sort_by_cached_key(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        // Sorts by number, so that rank 10 comes after rank 9.
        let numbers: Vec<Option<u32>> = name.split('-').map(|part| part.parse().ok()).collect();
        (numbers, name.into_owned())
    });
    Ok(captures)
}

#[cfg(test)]
mod tests;
