//! Finds input files by hash: in the data mirror, then in the cache, at the URL, and in the suite's archive.

use std::path::PathBuf;

use superstep_trace::named;

use super::cache::{Cache, check_hash, hash_file};
use super::error::Result;
use super::{FetchOptions, archive, download};
use crate::manifest::{DataArchive, Input, Sha256};

named! {
    pub enum Origin("origin") {
        Shipped => "shipped",
        Mirror => "mirror",
        Downloaded => "downloaded",
        /// Has the format and size of the original, but different content.
        Generated => "generated",
    }
}

/// Returns an input file with the correct hash, if any source has it. `archive` is not used if there is a data mirror.
pub fn data_file(
    input: &Input,
    sha256: &Sha256,
    archive: Option<&DataArchive>,
    options: &FetchOptions,
) -> Result<Option<(PathBuf, Origin)>> {
    if let (Some(mirror), Some(data)) = (&options.data_mirror, &input.data) {
        let path = mirror.join(data);
        if path.is_file() {
            let found = hash_file(&path)?;
            check_hash(&path.display().to_string(), &found, Some(sha256))?;
            return Ok(Some((path, Origin::Mirror)));
        }
    }
    let cache = Cache::new(&options.cache_dir);
    if let Some(path) = cache.get(sha256)? {
        return Ok(Some((path, Origin::Downloaded)));
    }
    if let Some(url) = &input.url
        && !options.offline
    {
        let path = download::into_cache(url, sha256, &options.download, &cache)?;
        return Ok(Some((path, Origin::Downloaded)));
    }
    if let (Some(archive), Some(data), None) = (archive, &input.data, &options.data_mirror) {
        let path = archive::member(archive, data, sha256, &cache, options)?;
        return Ok(path.map(|path| (path, Origin::Downloaded)));
    }
    Ok(None)
}
