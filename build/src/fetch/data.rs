//! Input files by hash: data mirror, then cache, then URL, then the suite's archive.

use std::path::{Path, PathBuf};

use super::cache::{Cache, check_hash, hash_file};
use super::error::Result;
use super::{FetchOptions, archive, download};
use crate::manifest::{DataArchive, Sha256};

#[derive(Debug, Clone, Copy)]
pub struct DataFile<'a> {
    pub data: Option<&'a Path>,
    pub url: Option<&'a str>,
    /// The archive that holds `data`. It is not downloaded if there is a data mirror.
    pub archive: Option<&'a DataArchive>,
    pub sha256: &'a Sha256,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Shipped,
    Mirror,
    Downloaded,
    /// Of upstream's format and size, not upstream's content.
    Generated,
}

/// Returns a data file with the right hash; `None` if no source has it.
pub fn data_file(
    wanted: DataFile<'_>,
    options: &FetchOptions,
) -> Result<Option<(PathBuf, Origin)>> {
    if let (Some(mirror), Some(data)) = (&options.data_mirror, wanted.data) {
        let path = mirror.join(data);
        if path.is_file() {
            let (found, _) = hash_file(&path)?;
            check_hash(&path.display().to_string(), &found, Some(wanted.sha256))?;
            return Ok(Some((path, Origin::Mirror)));
        }
    }
    let cache = Cache::new(&options.cache_dir);
    if let Some(path) = cache.get(wanted.sha256)? {
        return Ok(Some((path, Origin::Downloaded)));
    }
    if let Some(url) = wanted.url
        && !options.offline
    {
        let path = download::into_cache(url, wanted.sha256, &options.download, &cache)?;
        return Ok(Some((path, Origin::Downloaded)));
    }
    if let (Some(archive), Some(data), None) = (wanted.archive, wanted.data, &options.data_mirror) {
        let path = archive::member(archive, data, wanted.sha256, &cache, options)?;
        return Ok(path.map(|path| (path, Origin::Downloaded)));
    }
    Ok(None)
}
