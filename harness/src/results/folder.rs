//! The folder of one run: `out/<suite>/<run>/`, and the link `latest` next to it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use superstep_analysis::run_summary::{RunSummary, SCHEMA_VERSION};
use superstep_build::bail;
use superstep_build::failure::{Failure, FailureKind};

use superstep_toolchain::replace_file;

use super::read_json;

#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
    /// Held while this process writes results, so that no other process resumes the run.
    _lock: Option<Arc<File>>,
}

impl RunFolder {
    /// Creates `<out>/<suite>/<UTC time>-<id>/`.
    pub fn create(out: &Path, suite: &str) -> Result<Self, Failure> {
        const CREATE: &str = "create a result folder in";
        let place = out.join(suite);
        fs::create_dir_all(&place).map_err(Failure::io(CREATE, &place))?;
        let parent = (place.canonicalize()).map_err(Failure::io(CREATE, &place))?;
        let stamp = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
        // The process ID distinguishes runs that start in the same second; the counter distinguishes runs of one
        // process.
        let mut name = format!("{stamp}-{:x}", std::process::id());
        let mut attempt = 0;
        let path = loop {
            let path = parent.join(&name);
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                    attempt += 1;
                    name = format!("{stamp}-{:x}-{attempt}", std::process::id());
                }
                Err(error) => return Err(Failure::io(CREATE, &place)(error)),
            }
        };
        Self { path, _lock: None }.lock()
    }

    pub fn lock(self) -> Result<Self, Failure> {
        let lock = File::open(&self.path).map_err(Failure::io("open", &self.path))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                bail!(
                    Usage,
                    "cannot resume {}: its process is still running; wait for it to exit",
                    self.path.display()
                )
            }
            Err(TryLockError::Error(_)) => Ok(self),
            Ok(()) => Ok(Self {
                _lock: Some(Arc::new(lock)),
                ..self
            }),
        }
    }

    /// Returns the newest run of a suite, even if it was interrupted.
    pub fn newest(out: &Path, suite: &str) -> Option<Self> {
        let runs = fs::read_dir(out.join(suite)).ok()?.flatten();
        // `latest` is a link.
        let runs = runs.filter(|run| run.file_type().is_ok_and(|kind| kind.is_dir()));
        let runs = runs.map(|run| run.path());
        let newest = runs.filter(|run| run.join("run.json").is_file()).max()?;
        Some(Self::open(newest.canonicalize().unwrap_or(newest)))
    }

    /// Makes the link `latest` next to this folder point to it, if the file system supports links.
    pub fn become_latest(&self) {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return;
        };
        let temporary = parent.join(format!(".latest-{}", std::process::id()));
        let _ = fs::remove_file(&temporary);
        let _ = std::os::unix::fs::symlink(name, &temporary)
            .and_then(|()| fs::rename(&temporary, parent.join("latest")));
    }

    pub fn open(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            _lock: None,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn benchmark(&self, name: &str) -> PathBuf {
        self.path.join("benchmarks").join(name)
    }

    pub fn tables(&self, name: &str) -> PathBuf {
        self.path.join("tables").join(name)
    }

    /// Returns the capture folder of a benchmark, or of `benchmark/process`.
    pub fn capture(&self, name: &str) -> PathBuf {
        match name.split_once('/') {
            Some((name, process)) => self.benchmark(name).join("capture").join(process),
            None => self.benchmark(name).join("capture"),
        }
    }

    /// Replaces `run.json` atomically.
    pub fn write_summary(&self, summary: &RunSummary) -> Result<(), Failure> {
        let path = self.path.join("run.json");
        replace_file(&path, |file| {
            serde_json::to_writer_pretty(&mut *file, summary)?;
            file.write_all(b"\n")
        })
        .map_err(Failure::io("write", &path))
    }

    pub fn read_summary(&self) -> Result<RunSummary, Failure> {
        let path = self.path.join("run.json");
        let hint = "give the folder of a run, such as out/thesis/latest";
        read_json(&path, SCHEMA_VERSION, FailureKind::Usage, hint)
    }
}

#[cfg(test)]
mod tests;
