//! From a manifest to something that runs: sources and executables of each benchmark, in parallel.

use rayon::prelude::*;

use crate::compile::{Builder, Executables, Program};
use crate::failure::{Failure, FailureKind};
use crate::fetch::{self, FetchError, FetchOptions};
use crate::inputs::InputError;
use crate::manifest::{Benchmark, ManifestError, Suite};

/// Fetches and builds each of `benchmarks`; one failure does not stop the others. Results are in the order given.
pub fn build_all(
    suite: &Suite,
    benchmarks: &[&Benchmark],
    builder: &Builder,
    options: &FetchOptions,
    finished: impl Fn(&Benchmark, &Result<Executables, Failure>) + Sync,
) -> Vec<Result<Executables, Failure>> {
    benchmarks
        .par_iter()
        .map(|benchmark| {
            let result = build(suite, benchmark, builder, options);
            finished(benchmark, &result);
            result
        })
        .collect()
}

fn build(suite: &Suite, benchmark: &Benchmark, builder: &Builder, options: &FetchOptions) -> Result<Executables, Failure> {
    let tree = fetch::sources(suite, benchmark, options)?;
    let program = Program::of_benchmark(benchmark, &tree.directory);
    Ok(builder.build(&program)?)
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
