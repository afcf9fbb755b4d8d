//! Content hashes, for keys of cached steps. Each file is read once per process; its hash is then looked up by path,
//! size and modification time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;
use std::{fs, io};

pub use superstep_toolchain::KeyHasher;
use superstep_toolchain::hash_file;

type Known = HashMap<PathBuf, ((u64, Option<SystemTime>), String)>;

/// Returns the SHA-256 of a file's content, in hexadecimal. A file with unchanged size and time is not read again.
pub fn of_file(path: &Path) -> io::Result<String> {
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let metadata = fs::metadata(path)?;
    let stamp = (metadata.len(), metadata.modified().ok());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((then, hash)) = known().get(path)
        && *then == stamp
    {
        return Ok(hash.clone());
    }
    let hash = hash_file(path)?.to_string();
    known().insert(path.to_owned(), (stamp, hash.clone()));
    Ok(hash)
}

#[cfg(test)]
mod tests;
