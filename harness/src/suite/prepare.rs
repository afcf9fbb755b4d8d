//! From a manifest to something that runs: sources, inputs and executables of each benchmark, in parallel.

use std::path::PathBuf;

use rayon::prelude::*;

use super::SourceHashes;
use crate::compile::{Builder, Executables, Program};
use crate::failure::{Failure, FailureKind};
use crate::fetch::{self, DataFile, FetchError, FetchOptions, Found, SourceTree, data_file};
use crate::inputs::InputError;
use crate::interrupt;
use crate::manifest::{Benchmark, Input, ManifestError, Suite};

/// Where an input will come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputPlace {
    /// A file of the suite's own folder.
    Shipped,
    /// A file with the right hash, outside the suite.
    File(PathBuf),
    /// A generator makes a stand-in.
    Generator,
}

/// Finds an input without putting it anywhere.
///
/// # Errors
/// Nobody has it, it has a wrong hash, or it cannot be downloaded, and there is no generator.
pub fn find_input(
    suite: &Suite,
    input: &Input,
    options: &FetchOptions,
) -> Result<InputPlace, Failure> {
    let sources = &input.sources;
    if sources.shipped.is_some() {
        return Ok(InputPlace::Shipped);
    }
    let generated = sources.generate.is_some();
    if let Some(sha256) = &input.sha256 {
        let archive = suite.data.as_ref();
        let wanted = DataFile {
            data: sources.data.as_deref(),
            url: sources.url.as_deref(),
            archive,
            sha256,
        };
        let found = match data_file(wanted, options) {
            Err(FetchError::Unreachable { .. }) if generated => None,
            Err(source) => {
                return Err(InputError::Fetch {
                    name: input.name.clone(),
                    source: Box::new(source),
                }
                .into());
            }
            Ok(found) => found,
        };
        if let Some(Found::Mirror(path) | Found::Cached(path) | Found::Downloaded(path)) = found {
            return Ok(InputPlace::File(path));
        }
    }
    if generated {
        return Ok(InputPlace::Generator);
    }
    let wanted = sources
        .data
        .as_ref()
        .map(|data| data.display().to_string())
        .or_else(|| sources.url.clone());
    let wanted = wanted.unwrap_or_else(|| input.name.display().to_string());
    Err(InputError::Missing {
        name: input.name.clone(),
        wanted,
    }
    .into())
}

/// Fetches the sources of each benchmark and finds the inputs of its `size`. Results are in the order given.
///
/// # Errors
/// Not one of them can be had: the first one's failure, which is that of the others in all likelihood.
pub fn fetch_all(
    suite: &Suite,
    benchmarks: &[&Benchmark],
    size: &str,
    options: &FetchOptions,
) -> Result<Vec<Result<SourceTree, Failure>>, Failure> {
    let fetch = |benchmark: &&Benchmark| -> Result<SourceTree, Failure> {
        let tree = fetch::sources(suite, benchmark, options)?;
        for input in benchmark
            .sizes
            .get(size)
            .into_iter()
            .flat_map(|size| &size.inputs)
        {
            find_input(suite, input, options)?;
        }
        Ok(tree)
    };
    let results: Vec<_> = benchmarks.par_iter().map(fetch).collect();
    match results.iter().find_map(|result| result.as_ref().err()) {
        Some(first) if results.iter().all(Result::is_err) => Err(first.clone()),
        _ => Ok(results),
    }
}

/// The hashes of each benchmark's files, in the order given; none where its sources could not be had.
pub fn source_hashes(sources: &[Result<SourceTree, Failure>]) -> Vec<SourceHashes> {
    let hashes = |tree: &SourceTree| {
        tree.files
            .iter()
            .map(|file| (file.path.display().to_string(), file.sha256.to_string()))
            .collect()
    };
    sources
        .iter()
        .map(|tree| tree.as_ref().map(hashes).unwrap_or_default())
        .collect()
}

/// Builds each benchmark whose sources could be had; one failure does not stop the others. Results are in the order given.
pub fn build_all(
    benchmarks: &[&Benchmark],
    sources: Vec<Result<SourceTree, Failure>>,
    builder: &Builder,
    finished: impl Fn(&Benchmark, &Result<Executables, Failure>) + Sync,
) -> Vec<Result<Executables, Failure>> {
    benchmarks
        .par_iter()
        .zip(sources)
        .map(|(benchmark, tree)| {
            let build = |tree: SourceTree| {
                if interrupt::requested() {
                    let why = "the run was interrupted before it was built";
                    return Err(Failure::new(FailureKind::Interrupted, why));
                }
                Ok(builder.build(&Program::of_benchmark(benchmark, &tree.directory))?)
            };
            let result = tree.and_then(build);
            finished(benchmark, &result);
            result
        })
        .collect()
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        let kind = match &error {
            FetchError::GitMissing { .. } => FailureKind::Tool,
            FetchError::Io { .. } => FailureKind::Internal,
            _ => FailureKind::Fetch,
        };
        Failure::new(kind, error.to_string())
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

impl From<ManifestError> for Failure {
    fn from(error: ManifestError) -> Self {
        Failure::new(FailureKind::Manifest, error.to_string())
    }
}
