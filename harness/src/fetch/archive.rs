//! Single files out of a suite's data archive, a gzip-compressed tar file whose one top folder is the data folder.

use std::fs::File;
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::bufread::GzDecoder;

use super::cache::{Cache, io};
use super::download;
use super::error::FetchError;
use crate::manifest::{DataArchive, Sha256};

/// One download at a time: benchmarks of a suite share their archive.
static DOWNLOADING: Mutex<()> = Mutex::new(());

/// Takes `data` from the archive into the cache, after downloading the archive if the cache lacks it; `None` when the
/// archive has no such file, or is not here and may not be downloaded.
pub(super) fn member(
    archive: &DataArchive,
    data: &Path,
    sha256: &Sha256,
    cache: &Cache,
    offline: bool,
) -> Result<Option<PathBuf>, FetchError> {
    // The lock guards no data that a panic could leave half done.
    let _guard = DOWNLOADING.lock().unwrap_or_else(PoisonError::into_inner);
    let path = match cache.get(&archive.sha256)? {
        Some(path) => path,
        None if offline => return Ok(None),
        None => {
            let body = download::open(&archive.url, "--data-mirror")?;
            cache.put(body, Some(&archive.sha256), &archive.url)?.1
        }
    };
    let file = File::open(&path).map_err(io("open", &path))?;
    let mut tar = tar::Archive::new(GzDecoder::new(BufReader::with_capacity(1 << 18, file)));
    for entry in tar.entries().map_err(io("read archive", &path))? {
        let entry = entry.map_err(io("read archive", &path))?;
        let name = entry.path().map_err(io("read archive", &path))?;
        if entry.header().entry_type().is_file() && below_top_folder(&name) == data {
            let origin = format!("{} in {}", data.display(), archive.url);
            return cache
                .put(entry, Some(sha256), &origin)
                .map(|(_, path)| Some(path));
        }
    }
    Ok(None)
}

/// The path without its first folder; archives made with `tar … ./folder` have a `.` before it.
fn below_top_folder(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .skip(1)
        .collect()
}
