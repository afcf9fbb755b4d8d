//! A process of a program, and the folder with the captures of all the program's processes.

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

/// Returns the captures in `path`: `path` itself; the folders of multiple processes, ordered by rank; or, if `path` is
/// the folder of a run or of one of its benchmarks, the benchmarks' captures.
pub fn captures_in(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() || path.join(EVENTS_FILE).is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if path.join("capture").is_dir() {
        return captures_in(&path.join("capture"));
    }
    let benchmarks = path.join("benchmarks");
    if benchmarks.is_dir() {
        let entries =
            std::fs::read_dir(&benchmarks).map_err(TraceError::unreadable(&benchmarks))?;
        let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        folders.sort();
        let captures = folders.iter().map(|folder| captures_in(folder));
        return Ok(captures.collect::<Result<Vec<_>>>()?.concat());
    }
    let mut captures = Vec::new();
    for entry in std::fs::read_dir(path).map_err(TraceError::unreadable(path))? {
        let folder = entry.map_err(TraceError::unreadable(path))?.path();
        if folder.join(EVENTS_FILE).is_file() {
            captures.push(folder);
        }
    }
    captures.sort_by_cached_key(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        // Sort by number, so that rank 10 comes after rank 9.
        let numbers: Vec<Option<u32>> = name.split('-').map(|part| part.parse().ok()).collect();
        (numbers, name.into_owned())
    });
    Ok(captures)
}

#[cfg(test)]
mod tests;
