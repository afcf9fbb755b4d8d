//! The per-user cache: where it lies, and the lock that keeps two installers apart.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the per-user cache: `SUPERSTEP_CACHE`, else `superstep` in `XDG_CACHE_HOME`, else
/// `~/.cache/superstep`. `None` when none of these variables is set. The folder need not exist yet.
pub fn cache_dir() -> Option<PathBuf> {
    cache_dir_from(|name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    })
}

pub(crate) fn cache_dir_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("SUPERSTEP_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|dir| dir.join("superstep")))
        .or_else(|| variable("HOME").map(|dir| dir.join(".cache/superstep")))
}

/// Held while the cache is changed; the lock ends with the value, also when the process is killed.
#[derive(Debug)]
pub(crate) struct CacheLock(#[expect(dead_code, reason = "keeps the lock until dropped")] File);

impl CacheLock {
    /// Waits for the lock file `name` in `dir` (created when absent). `waiting` is called once if another process
    /// holds it.
    pub(crate) fn acquire(
        dir: &Path,
        name: &str,
        waiting: &mut dyn FnMut(),
    ) -> io::Result<CacheLock> {
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
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
        Ok(CacheLock(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_variable_wins() {
        let dir = |set: &[(&str, &str)]| {
            let set = set.to_vec();
            cache_dir_from(move |name| {
                set.iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| PathBuf::from(value))
            })
        };
        let all = [
            ("HOME", "/h"),
            ("XDG_CACHE_HOME", "/x"),
            ("SUPERSTEP_CACHE", "/s"),
        ];
        assert_eq!(dir(&all), Some("/s".into()));
        assert_eq!(dir(&all[..2]), Some("/x/superstep".into()));
        assert_eq!(dir(&all[..1]), Some("/h/.cache/superstep".into()));
        assert_eq!(dir(&[]), None);
    }

    #[test]
    fn a_second_lock_waits_for_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let first =
            CacheLock::acquire(dir.path(), "x.lock", &mut || panic!("nobody holds it")).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let path = dir.path().to_owned();
        let second = std::thread::spawn(move || {
            CacheLock::acquire(&path, "x.lock", &mut || tell.send(()).unwrap()).unwrap();
        });
        told.recv().unwrap();
        drop(first);
        second.join().unwrap();
    }
}
