//! The content-addressed cache of build steps.
//!
//! ```text
//! <cache>/steps/<first two digits>/<key>/   files of one step, written once, never changed
//! <cache>/headers/<key>.json                files that a compilation read, by the key of its command line
//! <cache>/tmp/                              unfinished steps; a finished one is renamed into place
//! ```
//!
//! Two processes can run the same step at the same time; the second discards its result. Within a process, each step
//! runs once, and other threads wait for it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use superstep_toolchain::replace_file;

use crate::compile::{BuildError, Result};

#[derive(Debug, Clone)]
pub struct StepCache {
    pub(crate) root: PathBuf,
    busy: Arc<Mutex<HashMap<String, Arc<Mutex<()>>>>>,
}

impl StepCache {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            busy: Arc::default(),
        }
    }

    /// Returns the folder of the step `key` if all `outputs` exist, and marks the step as just used.
    pub fn find(&self, key: &str, outputs: &[&str]) -> Option<PathBuf> {
        let folder = self.folder(key);
        if !outputs.iter().all(|name| folder.join(name).is_file()) {
            return None;
        }
        // Errors do not matter: a read-only cache is not pruned either.
        let _ = File::open(&folder).and_then(|file| file.set_modified(SystemTime::now()));
        Some(folder)
    }

    /// Creates a folder to run a step in. It is removed when dropped, unless it is passed to [`StepCache::keep`].
    pub fn scratch(&self) -> Result<tempfile::TempDir> {
        let folder = self.root.join("tmp");
        fs::create_dir_all(&folder).map_err(BuildError::io("create the cache folder", &folder))?;
        tempfile::Builder::new()
            .prefix("step-")
            .tempdir_in(&folder)
            .map_err(BuildError::io("create a folder in", &folder))
    }

    pub fn keep(&self, key: &str, outputs: &[&str], scratch: tempfile::TempDir) -> Result<PathBuf> {
        let folder = self.folder(key);
        let parent = folder.parent().unwrap_or(&self.root);
        fs::create_dir_all(parent).map_err(BuildError::io("create the cache folder", parent))?;
        if folder.exists() && self.find(key, outputs).is_none() {
            // An incomplete entry: files were removed by hand.
            fs::remove_dir_all(&folder)
                .map_err(BuildError::io("remove the broken cache entry", &folder))?;
        }
        match fs::rename(scratch.path(), &folder) {
            // If another process was first, its files are equivalent.
            Err(error) if self.find(key, outputs).is_none() => {
                Err(BuildError::io("write the cache entry", &folder)(error))
            }
            _ => Ok(folder),
        }
    }

    pub fn headers(&self, key: &str) -> Option<Vec<PathBuf>> {
        let text = fs::read_to_string(self.header_file(key)).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub fn keep_headers(&self, key: &str, list: &[PathBuf]) -> Result<()> {
        let file = self.header_file(key);
        replace_file(&file, |writer| Ok(serde_json::to_writer(writer, list)?))
            .map_err(BuildError::io("write", &file))
    }

    pub fn exclusively<T>(&self, key: &str, run: impl FnOnce() -> T) -> T {
        let lock = {
            let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(busy.entry(key.to_owned()).or_default())
        };
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        run()
    }

    fn folder(&self, key: &str) -> PathBuf {
        let group = key.get(..2).unwrap_or("00");
        self.root.join("steps").join(group).join(key)
    }

    fn header_file(&self, key: &str) -> PathBuf {
        self.root.join("headers").join(format!("{key}.json"))
    }
}

#[cfg(test)]
mod tests;
