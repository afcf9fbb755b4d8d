//! Input files by hash: data mirror, then cache, then URL.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::FetchOptions;
use super::cache::{Cache, hash_file, io};
use super::download;
use super::error::FetchError;
use crate::manifest::Sha256;

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct DataFile<'a> {
    /// Path inside the suite's data folder.
    pub data: Option<&'a Path>,
    /// `https` URL.
    pub url: Option<&'a str>,
    /// Its hash.
    pub sha256: &'a Sha256,
}

/// Where a file was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// In the data mirror.
    Mirror(PathBuf),
    /// In the cache, from an earlier download.
    Cached(PathBuf),
    /// Downloaded just now.
    Downloaded(PathBuf),
}

/// Finds a data file; `None` when nobody has it. Whatever is returned has the right hash.
///
/// # Errors
/// A file with a wrong hash, an unreachable URL, a failing file operation.
pub fn data_file(
    wanted: DataFile<'_>,
    options: &FetchOptions,
) -> Result<Option<Found>, FetchError> {
    if let (Some(mirror), Some(data)) = (&options.data_mirror, wanted.data) {
        let path = mirror.join(data);
        if path.is_file() {
            let (found, _) = hash_file(&path)?;
            if found != *wanted.sha256 {
                return Err(FetchError::WrongHash {
                    origin: path.display().to_string(),
                    found,
                    expected: *wanted.sha256,
                });
            }
            return Ok(Some(Found::Mirror(path)));
        }
    }
    let cache = Cache::new(&options.cache_dir);
    if let Some(path) = cache.get(wanted.sha256)? {
        return Ok(Some(Found::Cached(path)));
    }
    match wanted.url {
        Some(url) if !options.offline => {
            let body = download::open(url, "--data-mirror")?;
            cache
                .put(body, Some(wanted.sha256), url)
                .map(|(_, path)| Some(Found::Downloaded(path)))
        }
        _ => Ok(None),
    }
}

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> Result<File, FetchError> {
    File::open(path).map_err(io("open", path))
}
