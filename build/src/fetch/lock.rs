//! Locks between processes that share a cache: one does the work, the others wait and find it done.

use std::fs::File;

use super::cache::{Cache, io};
use super::error::FetchError;

/// Waits until no other thread or process holds `key`, a file name. It is held until the file is closed, also by the process's end.
///
/// # Errors
/// The lock's file cannot be made. A file system without locks does without: what is stored is renamed into its place anyway.
pub(super) fn lock(cache: &Cache, key: &str) -> Result<File, FetchError> {
    let path = cache.folder("locks")?.join(key);
    let file = File::create(&path).map_err(io("create", &path))?;
    let _ = file.lock();
    Ok(file)
}
