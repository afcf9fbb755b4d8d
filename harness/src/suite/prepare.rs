//! From a manifest to something that runs: sources, inputs and executables of each benchmark, in parallel.

use rayon::prelude::*;

use superstep_build::compile::{Builder, Executables, Program};
use superstep_build::failure::{Failure, FailureKind};
use superstep_build::fetch::{self, FetchOptions, SourceTree};
use superstep_build::inputs::find_input;
use superstep_build::interrupt;
use superstep_build::manifest::{Benchmark, Suite};

use super::SourceHashes;

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
