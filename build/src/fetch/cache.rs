//! The content-addressed cache: files named by their SHA-256, renamed into place when complete, and verified when read.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use superstep_toolchain::CacheLock;
use tempfile::NamedTempFile;

use super::error::{FetchError, Result};
use crate::failure::IoError;
use crate::manifest::Sha256;

/// Returns the cache folder: [`CACHE`](superstep_toolchain::variable::CACHE), else `superstep` in the user's cache
/// folder (`~/.cache` on Linux).
pub fn default_cache_dir() -> Result<PathBuf> {
    let folder = superstep_toolchain::cache_dir().ok_or(FetchError::NoCacheFolder)?;
    superstep_toolchain::check_private(&folder).map_err(FetchError::OpenCache)?;
    Ok(folder)
}

pub fn hash_file(path: &Path) -> Result<Sha256> {
    superstep_toolchain::hash_file(path).map_err(io("read", path))
}

#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    pub fn new(root: &Path) -> Cache {
        Cache {
            root: root.to_owned(),
        }
    }

    pub(crate) fn folder(&self, kind: &str) -> Result<PathBuf> {
        let folder = self.root.join(kind);
        fs::create_dir_all(&folder).map_err(io("create folder", &folder))?;
        Ok(folder)
    }

    /// Locks `key`, a file name. Blocks while another thread or process holds the lock; the holder does the work, and
    /// the others find the result.
    pub(super) fn lock(&self, key: &str) -> Result<CacheLock> {
        let folder = self.folder("locks")?;
        CacheLock::acquire(&folder, key, &mut || ()).map_err(io("lock", &folder.join(key)))
    }

    fn blob_path(&self, hash: &Sha256) -> PathBuf {
        let name = hash.to_string();
        self.root.join("blobs").join(&name[..2]).join(name)
    }

    pub fn get(&self, hash: &Sha256) -> Result<Option<PathBuf>> {
        let path = self.blob_path(hash);
        if !path.is_file() {
            return Ok(None);
        }
        if hash_file(&path)? == *hash {
            return Ok(Some(path));
        }
        fs::remove_file(&path).map_err(io("remove damaged file", &path))?;
        Ok(None)
    }

    /// Stores the content of `reader` if it has the expected hash; `None` accepts any. `origin` is named in errors.
    pub fn put(
        &self,
        mut reader: impl Read,
        expected: Option<&Sha256>,
        origin: &str,
    ) -> Result<(Sha256, PathBuf)> {
        self.put_with(expected, origin, |writer| {
            let copied = io::copy(&mut reader, writer).map(drop);
            copied.map_err(io("copy", Path::new(origin)))
        })
    }

    pub(super) fn adopt(&self, file: &Path, hash: &Sha256) -> Result<PathBuf> {
        let path = self.blob_path(hash);
        create_folder_of(&path)?;
        fs::rename(file, &path).map_err(io("store", &path))?;
        Ok(path)
    }

    pub(crate) fn put_with(
        &self,
        expected: Option<&Sha256>,
        origin: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<(Sha256, PathBuf)> {
        let incoming = self.folder("blobs")?;
        let file = NamedTempFile::new_in(&incoming).map_err(io("create a file in", &incoming))?;
        let mut writer = io::BufWriter::with_capacity(1 << 18, file);
        write(&mut writer)?;
        let file = writer.into_inner().map_err(io::Error::from);
        let file = file.map_err(io("write to", &incoming))?;
        let found = hash_file(file.path())?;
        check_hash(origin, &found, expected)?;
        Ok((found, self.adopt(file.path(), &found)?))
    }
}

/// Fails if the content of `origin` does not have the expected hash.
pub(crate) fn check_hash(origin: &str, found: &Sha256, expected: Option<&Sha256>) -> Result<()> {
    match expected {
        Some(expected) if expected != found => Err(FetchError::WrongHash {
            origin: origin.to_owned(),
            found: *found,
            expected: *expected,
        }),
        _ => Ok(()),
    }
}

pub(super) fn create_folder_of(file: &Path) -> Result<()> {
    let parent = file.parent().unwrap_or(file);
    fs::create_dir_all(parent).map_err(io("create folder", parent))
}

pub(crate) fn io<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> FetchError + 'a {
    move |source| FetchError::Io(IoError::at(action, path)(source))
}
