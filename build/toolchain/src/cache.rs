//! The per-user cache: its folder, locks between processes, and atomic replacement of files.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use thiserror::Error;

use crate::variable::CACHE;

/// Returns the folder of the per-user cache: the value of [`CACHE`], else `superstep` in `XDG_CACHE_HOME`, else
/// `~/.cache/superstep`. The folder need not exist.
pub fn cache_dir() -> Option<PathBuf> {
    // Fails for an empty value, which counts as unset.
    cache_dir_from(|name| std::path::absolute(std::env::var_os(name)?).ok())
}

pub(crate) fn cache_dir_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable(CACHE)
        .or_else(|| variable("XDG_CACHE_HOME").map(|dir| dir.join("superstep")))
        .or_else(|| variable("HOME").map(|dir| dir.join(".cache/superstep")))
}

#[derive(Debug, Error)]
#[error("failed to use the cache folder {0}, or set {CACHE} to a folder of your own")]
pub struct OpenCache(String);

/// Rejects a cache folder that another user can write to. A folder that does not exist yet is accepted.
///
/// A group may have write access if its ID equals the user's: distributions give a user's private group the user's ID.
/// Root may use another user's folder, as in containers.
pub fn check_private(folder: &Path) -> Result<(), OpenCache> {
    let Ok(metadata) = folder.metadata() else {
        return Ok(());
    };
    let user = rustix::process::geteuid().as_raw();
    let (owner, group, mode) = (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777);
    let by_group = mode & 0o020 != 0 && group != owner;
    let path = folder.display();
    let (why, remedy) = if owner != user && owner != 0 && user != 0 {
        let why = format!("another user owns it ({owner})");
        (why, "remove it".to_owned())
    } else if mode & 0o002 != 0 || by_group {
        let who = if by_group { "its group" } else { "any user" };
        let why = format!("{who} can write to it (mode {mode:04o})");
        (
            why,
            format!("run `chmod go-w {path}` and remove its contents"),
        )
    } else {
        return Ok(());
    };
    Err(OpenCache(format!(
        "{path}: {why}, and could change what is built from it; {remedy}"
    )))
}

pub fn replace_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    let file = tempfile::Builder::new()
        .permissions(mode)
        .tempfile_in(folder)?;
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    file.into_inner()?.persist(path)?;
    Ok(())
}

/// A lock held while something in the cache is created; released when dropped, or when the process is killed.
#[derive(Debug)]
pub struct CacheLock(#[expect(dead_code, reason = "keeps the lock until dropped")] File);

impl CacheLock {
    /// Blocks until it holds the lock file `name` in `dir`, which is created if needed. Calls `waiting` once if another
    /// thread or process holds it. Succeeds without a lock if the file system does not support locks: results are
    /// renamed into place anyway.
    pub fn acquire(dir: &Path, name: &str, waiting: &mut dyn FnMut()) -> io::Result<CacheLock> {
        std::fs::create_dir_all(dir)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join(name))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                waiting();
                file.lock()?;
            }
            Err(std::fs::TryLockError::Error(error)) => match Errno::from_io_error(&error) {
                Some(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                _ => return Err(error),
            },
        }
        Ok(CacheLock(file))
    }
}

#[cfg(test)]
mod tests;
