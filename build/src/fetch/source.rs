//! A benchmark's source files as a folder: the suite's own, or one assembled from a git commit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::FetchOptions;
use superstep_toolchain::hash_bytes;

use super::cache::{Cache, create_folder_of, hash_file, io};
use super::error::{FetchError, Result};
use super::git::Repository;
use crate::manifest::{Benchmark, GitSource, Sha256, Suite};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceTree {
    pub root: PathBuf,
    pub directory: PathBuf,
    pub files: Vec<SourceFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    pub path: PathBuf,
    pub sha256: Sha256,
}

pub fn sources(suite: &Suite, benchmark: &Benchmark, options: &FetchOptions) -> Result<SourceTree> {
    let paths = benchmark.files.iter();
    let paths = paths.map(|file| benchmark.in_source(file));
    let (root, files) = match &suite.source.git {
        None => {
            let root = &suite.folder;
            let root = std::path::absolute(root).map_err(io("find folder", root))?;
            let read = |path| in_tree(&root, path, benchmark);
            let files = paths.map(read).collect::<Result<_, _>>()?;
            (root, files)
        }
        Some(GitSource { url, commit }) => {
            let cache = Cache::new(&options.cache_dir);
            let repository = match &options.source_mirror {
                Some(mirror) => Repository::mirror(mirror, commit)?,
                None => Repository::from_url(url, commit, &cache, options)?,
            };
            // All files are read before any is written, so nothing is left behind if one is missing.
            let read = |path: PathBuf| {
                let content = repository.file(&path)?;
                let origin = path.display().to_string();
                let (sha256, _) = cache.put(content.as_slice(), None, &origin)?;
                Ok(SourceFile { path, sha256 })
            };
            let files: Vec<_> = paths.map(read).collect::<Result<_, _>>()?;
            let root = assemble(&cache, commit, &files)?;
            (root, files)
        }
    };
    Ok(SourceTree {
        directory: root.join(&benchmark.directory),
        root,
        files,
    })
}

fn in_tree(root: &Path, path: PathBuf, benchmark: &Benchmark) -> Result<SourceFile> {
    let file = root.join(&path);
    if !file.is_file() {
        return Err(FetchError::MissingInTree {
            path: file,
            manifest: benchmark.manifest.clone(),
        });
    }
    let sha256 = hash_file(&file)?;
    Ok(SourceFile { path, sha256 })
}

/// Writes the files into a cache folder that is named after their content; reuses a complete one.
fn assemble(cache: &Cache, commit: &str, files: &[SourceFile]) -> Result<PathBuf> {
    let mut key = format!("{commit}\n");
    for file in files {
        key.push_str(&format!("{} {}\n", file.sha256, file.path.display()));
    }
    let folder = cache.folder("sources")?;
    let root = folder.join(hash_bytes(key.as_bytes()).to_string());
    let intact = |root: &Path| {
        files
            .iter()
            .all(|file| hash_file(&root.join(&file.path)).is_ok_and(|hash| hash == file.sha256))
    };
    if intact(&root) {
        return Ok(root);
    }
    let building = tempfile::tempdir_in(&folder).map_err(io("create a folder in", &folder))?;
    for file in files {
        let target = building.path().join(&file.path);
        create_folder_of(&target)?;
        let gone = || std::io::ErrorKind::NotFound.into();
        let blob = cache.get(&file.sha256)?.ok_or_else(gone);
        let blob = blob.map_err(io("find in the cache", &file.path))?;
        let mut from = File::open(&blob).map_err(io("open", &blob))?;
        let mut to = File::create(&target).map_err(io("create", &target))?;
        std::io::copy(&mut from, &mut to).map_err(io("write", &target))?;
    }
    if root.exists() {
        fs::remove_dir_all(&root).map_err(io("remove damaged folder", &root))?;
    }
    match fs::rename(building.path(), &root) {
        // Another process was first; its folder has the same content.
        Err(error) if !intact(&root) => Err(io("create folder", &root)(error)),
        _ => Ok(root),
    }
}
