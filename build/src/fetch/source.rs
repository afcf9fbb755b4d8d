//! A benchmark's source files as a folder: the suite's own, or one assembled from a git commit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::FetchOptions;
use super::cache::{Cache, hash_bytes, hash_file, io};
use super::error::FetchError;
use super::git::Repository;
use crate::manifest::{Benchmark, Sha256, Source, Suite};

/// A benchmark's sources, checked and ready to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceTree {
    /// Root of the source; holds at least the files below, laid out as upstream. Not to be written to.
    pub root: PathBuf,
    /// The benchmark's folder inside `root`, an absolute path: what translation units and include paths are relative to.
    pub directory: PathBuf,
    /// The files, in the manifest's order.
    pub files: Vec<SourceFile>,
    /// Where they are from, for results: `in-tree`, or URL and commit.
    pub origin: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path inside the source's root.
    pub path: PathBuf,
    pub sha256: Sha256,
}

/// Gives the files that `benchmark` names, and only those.
pub fn sources(
    suite: &Suite,
    benchmark: &Benchmark,
    options: &FetchOptions,
) -> Result<SourceTree, FetchError> {
    let paths: Vec<PathBuf> = benchmark
        .files
        .iter()
        .map(|file| benchmark.in_source(file))
        .collect();
    match &suite.source {
        Source::InTree => in_tree(suite, benchmark, &paths),
        Source::Git { url, commit } => from_git(url, commit, benchmark, &paths, options),
    }
}

fn in_tree(
    suite: &Suite,
    benchmark: &Benchmark,
    paths: &[PathBuf],
) -> Result<SourceTree, FetchError> {
    let root = std::path::absolute(&suite.folder).map_err(io("find folder", &suite.folder))?;
    let files = paths
        .iter()
        .map(|path| {
            let file = root.join(path);
            if !file.is_file() {
                return Err(FetchError::MissingInTree {
                    path: file,
                    manifest: benchmark.manifest.clone(),
                });
            }
            Ok(SourceFile {
                path: path.clone(),
                sha256: hash_file(&file)?.0,
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(SourceTree {
        directory: root.join(&benchmark.directory),
        root,
        files,
        origin: "in-tree".to_owned(),
    })
}

fn from_git(
    url: &str,
    commit: &str,
    benchmark: &Benchmark,
    paths: &[PathBuf],
    options: &FetchOptions,
) -> Result<SourceTree, FetchError> {
    let cache = Cache::new(&options.cache_dir);
    let repository = match &options.source_mirror {
        Some(mirror) => Repository::mirror(mirror, commit)?,
        None => Repository::from_url(url, commit, &cache, options)?,
    };
    // All files are read before any is laid out: a missing one leaves nothing behind.
    let mut files = Vec::new();
    for path in paths {
        let content = repository.file(path)?;
        let (sha256, _) = cache.put(content.as_slice(), None, &path.display().to_string())?;
        files.push(SourceFile {
            path: path.clone(),
            sha256,
        });
    }
    let root = assemble(&cache, commit, &files)?;
    Ok(SourceTree {
        directory: root.join(&benchmark.directory),
        root,
        files,
        origin: format!("{url} at commit {commit}"),
    })
}

/// Lays the files out in a folder of the cache that is named after what it holds; a complete one is used again.
fn assemble(cache: &Cache, commit: &str, files: &[SourceFile]) -> Result<PathBuf, FetchError> {
    let mut key = format!("{commit}\n");
    for file in files {
        key.push_str(&format!("{} {}\n", file.sha256, file.path.display()));
    }
    let folder = cache.folder("sources")?;
    let root = folder.join(hash_bytes(key.as_bytes()).to_string());
    let intact = |root: &Path| {
        files.iter().all(|file| {
            hash_file(&root.join(&file.path)).is_ok_and(|(hash, _)| hash == file.sha256)
        })
    };
    if intact(&root) {
        return Ok(root);
    }
    let building = tempfile::tempdir_in(&folder).map_err(io("create a folder in", &folder))?;
    for file in files {
        let target = building.path().join(&file.path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(io("create folder", parent))?;
        }
        let blob = cache.get(&file.sha256)?.ok_or_else(|| FetchError::Io {
            action: "find in the cache",
            path: file.path.clone(),
            source: std::io::ErrorKind::NotFound.into(),
        })?;
        let mut from = File::open(&blob).map_err(io("open", &blob))?;
        let mut to = File::create(&target).map_err(io("create", &target))?;
        std::io::copy(&mut from, &mut to).map_err(io("write", &target))?;
    }
    if root.exists() {
        fs::remove_dir_all(&root).map_err(io("remove damaged folder", &root))?;
    }
    match fs::rename(building.path(), &root) {
        Ok(()) => {}
        // Another process was faster: its folder has the same content.
        Err(_) if intact(&root) => {}
        Err(source) => {
            return Err(FetchError::Io {
                action: "create folder",
                path: root,
                source,
            });
        }
    }
    Ok(root)
}
