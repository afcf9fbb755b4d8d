//! Limits the size of the build-step cache by removing the least recently used steps.
//!
//! `StepCache::find` sets the modification time of a step's folder to the time of the step's last use. Recently used
//! steps are kept regardless of the size limit, since another process may be building with them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use crate::compile::{BuildError, Result, StepCache};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneLimits {
    pub bytes: u64,
    pub unused_for: Duration,
}

impl Default for PruneLimits {
    fn default() -> Self {
        Self {
            bytes: 20 << 30,
            unused_for: Duration::from_secs(24 * 3600),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Pruned {
    pub removed: u64,
    pub removed_bytes: u64,
    pub kept: u64,
    pub kept_bytes: u64,
}

struct Step {
    folder: PathBuf,
    used: SystemTime,
    bytes: u64,
}

impl StepCache {
    /// Removes the least recently used steps until the remaining ones are within `limits`. Also removes unfinished
    /// steps left by killed processes.
    pub fn prune(&self, limits: PruneLimits) -> Result<Pruned> {
        let now = SystemTime::now();
        let old = |used: SystemTime| {
            let age = now.duration_since(used);
            age.is_ok_and(|age| age >= limits.unused_for)
        };
        let mut steps = self.steps().map_err(failed(&self.root))?;
        steps.sort_by_key(|step| step.used);
        let scratch = self.root.join("tmp");
        let mut result = Pruned {
            kept: steps.len() as u64,
            kept_bytes: steps.iter().map(|step| step.bytes).sum(),
            ..Pruned::default()
        };
        for step in steps {
            if result.kept_bytes <= limits.bytes || !old(step.used) {
                break;
            }
            // Renamed first, so that no process finds a partially removed step.
            fs::create_dir_all(&scratch).map_err(failed(&scratch))?;
            let name = step.folder.file_name().unwrap_or_default();
            let aside = scratch.join(name);
            match fs::rename(&step.folder, &aside) {
                Ok(()) => fs::remove_dir_all(&aside).map_err(failed(&aside))?,
                // Another process is pruning too.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&step.folder)(error)),
            }
            result.removed += 1;
            result.removed_bytes += step.bytes;
            result.kept -= 1;
            result.kept_bytes -= step.bytes;
        }
        for entry in entries(&scratch).map_err(failed(&scratch))? {
            let abandoned = entry.metadata().and_then(|data| data.modified());
            if abandoned.is_ok_and(old) {
                // Another process might remove it first.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(result)
    }

    fn steps(&self) -> io::Result<Vec<Step>> {
        let mut steps = Vec::new();
        for group in entries(&self.root.join("steps"))? {
            for step in entries(&group.path())? {
                // The step might have been removed in the meantime.
                let Ok(data) = step.metadata() else { continue };
                let files = entries(&step.path())?;
                let bytes = files.iter().filter_map(|file| file.metadata().ok());
                steps.push(Step {
                    folder: step.path(),
                    used: data.modified()?,
                    bytes: bytes.map(|data| data.len()).sum(),
                });
            }
        }
        Ok(steps)
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> BuildError + '_ {
    BuildError::io("prune the cache folder", path)
}

fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
