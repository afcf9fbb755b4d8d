//! Extracts individual files from a suite's data archive, a gzip-compressed tar file of the data folder.
//!
//! Only the content of one regular file is unpacked, into the cache under its hash, so names inside the archive never
//! become paths on this machine. An archive with names that point outside its folder is rejected despite a valid hash.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Component, Path, PathBuf};

use flate2::bufread::GzDecoder;

use super::cache::{Cache, io};
use super::error::{FetchError, Result};
use super::{FetchOptions, download};
use crate::manifest::{DataArchive, Sha256};

/// Extracts `data` from the archive into the cache, after downloading the archive if needed. Returns `None` if the
/// archive lacks the file, or is not in the cache and may not be downloaded.
pub(super) fn member(
    archive: &DataArchive,
    data: &Path,
    sha256: &Sha256,
    cache: &Cache,
    options: &FetchOptions,
) -> Result<Option<PathBuf>> {
    // Benchmarks in a suite share an archive; only one reads it at a time.
    let _lock = cache.lock(&format!("archive-{}", archive.sha256))?;
    if let Some(path) = cache.get(sha256)? {
        return Ok(Some(path));
    }
    let path = match cache.get(&archive.sha256)? {
        Some(path) => path,
        None if options.offline => return Ok(None),
        None => download::into_cache(&archive.url, &archive.sha256, &options.download, cache)?,
    };
    let file = File::open(&path).map_err(io("open", &path))?;
    let limit_bytes = options.download.bytes;
    let unpacked = GzDecoder::new(BufReader::with_capacity(1 << 18, file));
    // A small archive can unpack to any size.
    let mut tar = tar::Archive::new(unpacked.take(limit_bytes));
    let refused = |detail: String| FetchError::Archive {
        url: archive.url.clone(),
        detail,
    };
    let damaged = |error: std::io::Error| refused(error.to_string());
    let too_long = |origin| FetchError::TooLong {
        origin,
        limit_bytes,
    };
    for entry in tar.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let name = entry.path().map_err(damaged)?.into_owned();
        let named = |what| refused(format!("{} {what}", name.display()));
        let mut parts = name.components();
        if !parts.all(|part| matches!(part, Component::CurDir | Component::Normal(_))) {
            return Err(named("is outside the archive's folder"));
        }
        let below_top = name.components().filter(|part| *part != Component::CurDir);
        if !below_top.skip(1).eq(data.components()) {
            continue;
        }
        if !entry.header().entry_type().is_file() {
            return Err(named("is not a regular file"));
        }
        let origin = format!("{} in {}", data.display(), archive.url);
        if entry.size() > limit_bytes {
            return Err(too_long(origin));
        }
        let (_, path) = cache.put(entry, Some(sha256), &origin)?;
        return Ok(Some(path));
    }
    if tar.into_inner().limit() == 0 {
        return Err(too_long(format!("the unpacked {}", archive.url)));
    }
    Ok(None)
}
