//! Puts a size's inputs into a working folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::generate;
use super::generator::Generator;
use crate::failure::{Failure, FailureKind};
use crate::fetch::{
    Cache, DataFile, FetchError, FetchOptions, Found, HashingWriter, data_file, hash_bytes, open,
};
use crate::manifest::{Input, Sha256, Size, Suite};

/// Where an input came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A file of this repository.
    Shipped,
    Mirror,
    Downloaded,
    /// Made by a generator: of upstream's format and size, not upstream's content.
    Generated,
}

/// An input that a run used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputUsed {
    /// Path in the working folder.
    pub name: PathBuf,
    /// Hash of what was used.
    pub sha256: Sha256,
    pub origin: Origin,
    pub bytes: u64,
}

/// Why an input could not be provided.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("failed to provide input {}: {source}", name.display())]
    Fetch {
        name: PathBuf,
        #[source]
        source: Box<FetchError>,
    },
    /// Nobody has it, and there is no generator.
    #[error(
        "failed to provide input {}: {} is neither in a data mirror nor in the cache, and the manifest names no generator; \
         give the folder that holds it with --data-mirror", name.display(), wanted
    )]
    Missing { name: PathBuf, wanted: String },
    /// Writing into the working folder failed.
    #[error("failed to write input {}: {source}; check permissions and free space", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes every input of `size` to `run_dir` under its name, each a private copy.
///
/// Order for each input: shipped file; data mirror, cache, URL, the suite's archive (a wrong hash is an error);
/// generator.
pub fn materialise(
    suite: &Suite,
    size: &Size,
    options: &FetchOptions,
    run_dir: &Path,
) -> Result<Vec<InputUsed>, InputError> {
    size.inputs
        .iter()
        .map(|input| one(suite, input, options, run_dir))
        .collect()
}

fn one(
    suite: &Suite,
    input: &Input,
    options: &FetchOptions,
    run_dir: &Path,
) -> Result<InputUsed, InputError> {
    let fetch_error = |source| InputError::Fetch {
        name: input.name.clone(),
        source: Box::new(source),
    };
    let target = run_dir.join(&input.name);
    let used = |(sha256, bytes), origin| InputUsed {
        name: input.name.clone(),
        sha256,
        origin,
        bytes,
    };
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(|source| InputError::Write {
            path: parent.to_owned(),
            source,
        })?;
    }
    if let Some(shipped) = &input.sources.shipped {
        let copied = copy(
            &suite.folder.join(shipped),
            &target,
            input.sha256.as_ref(),
            &fetch_error,
        )?;
        return Ok(used(copied, Origin::Shipped));
    }
    if let Some(sha256) = &input.sha256 {
        let wanted = DataFile {
            data: input.sources.data.as_deref(),
            url: input.sources.url.as_deref(),
            archive: suite.data.as_ref(),
            sha256,
        };
        let found = match data_file(wanted, options) {
            // A stand-in is better than no run when only the network is missing.
            Err(FetchError::Unreachable { .. }) if input.sources.generate.is_some() => None,
            other => other.map_err(fetch_error)?,
        };
        let found = found.map(|found| match found {
            Found::Mirror(path) => (path, Origin::Mirror),
            Found::Cached(path) | Found::Downloaded(path) => (path, Origin::Downloaded),
        });
        if let Some((path, origin)) = found {
            return Ok(used(
                copy(&path, &target, Some(sha256), &fetch_error)?,
                origin,
            ));
        }
    }
    let Some(generator) = &input.sources.generate else {
        let wanted = match (&input.sources.data, &input.sources.url) {
            (Some(data), _) => data.display().to_string(),
            (None, Some(url)) => url.clone(),
            (None, None) => input.name.display().to_string(),
        };
        return Err(InputError::Missing {
            name: input.name.clone(),
            wanted,
        });
    };
    let cache = Cache::new(&options.cache_dir);
    let (sha256, path) = generated(generator, &cache).map_err(fetch_error)?;
    Ok(used(
        copy(&path, &target, Some(&sha256), &fetch_error)?,
        Origin::Generated,
    ))
}

/// A generated file in the cache; made once, since a run needs it several times.
fn generated(generator: &Generator, cache: &Cache) -> Result<(Sha256, PathBuf), FetchError> {
    let description = format!("{generator:?}");
    // Holds the hash of the content; a new version of the generators looks elsewhere.
    let note = cache
        .folder(generate::VERSION)?
        .join(hash_bytes(description.as_bytes()).to_string());
    if let Some(hash) = fs::read_to_string(&note)
        .ok()
        .and_then(|hash| Sha256::parse(&hash))
        && let Some(path) = cache.get(&hash)?
    {
        return Ok((hash, path));
    }
    let made = cache.put_with(None, &description, |writer| {
        generate::write(generator, writer).map(|_| ())
    })?;
    // Whoever reads a half-written note makes the file again.
    fs::write(&note, made.0.to_string()).map_err(|source| FetchError::Io {
        action: "write",
        path: note,
        source,
    })?;
    Ok(made)
}

/// Copies and hashes at once: what the program gets is what was checked.
fn copy(
    from: &Path,
    to: &Path,
    expected: Option<&Sha256>,
    fetch_error: &dyn Fn(FetchError) -> InputError,
) -> Result<(Sha256, u64), InputError> {
    let write_error = |source| InputError::Write {
        path: to.to_owned(),
        source,
    };
    let mut reader = open(from).map_err(fetch_error)?;
    let mut writer = HashingWriter::new(File::create(to).map_err(write_error)?);
    let bytes = io::copy(&mut reader, &mut writer).map_err(write_error)?;
    let (_, found) = writer.finish();
    match expected {
        Some(expected) if *expected != found => {
            // Never leave a wrong file where a program might read it.
            fs::remove_file(to).map_err(write_error)?;
            Err(fetch_error(FetchError::WrongHash {
                origin: from.display().to_string(),
                found,
                expected: *expected,
            }))
        }
        _ => Ok((found, bytes)),
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let kind = match &error {
            InputError::Write { .. } => FailureKind::Internal,
            _ => FailureKind::Fetch,
        };
        Failure::new(kind, error.to_string())
    }
}
