//! Reads a suite's folder: `suite.yaml`, then the manifest of every benchmark that it lists.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::check;
use super::error::{ManifestError, Text};
use super::model::{Benchmark, Suite};
use super::schema::{BenchmarkFile, SuiteFile};

/// Entry point for reading manifests.
#[derive(Debug, Clone, Copy)]
pub struct Manifest;

impl Manifest {
    /// Reads `suite.yaml` and the manifests of all its benchmarks from `folder`, and checks them.
    ///
    /// # Errors
    /// The first file that cannot be read or breaks a rule, with line and column.
    pub fn load_suite(folder: &Path) -> Result<Suite, ManifestError> {
        let path = folder.join("suite.yaml");
        let content = read(&path, || {
            format!(
                "a suite is a folder with a suite.yaml; is {} the right folder?",
                folder.display()
            )
        })?;
        let text = Text {
            path: &path,
            content: &content,
        };
        let file: SuiteFile = parse(text)?;
        let benchmark_names: Vec<_> = file
            .benchmarks
            .value
            .iter()
            .map(|name| (name.value.clone(), name.referenced))
            .collect();
        let mut suite = check::suite(text, folder, file)?;
        for (name, place) in benchmark_names {
            let benchmark_path = folder.join(format!("{name}.yaml"));
            if !benchmark_path.is_file() {
                return Err(text.error(
                    place,
                    format!(
                        "benchmark `{name}` has no manifest {}",
                        benchmark_path.display()
                    ),
                    "write that file or take the name off the list",
                ));
            }
            let benchmark = Self::load_benchmark(&benchmark_path, &suite)?;
            if !benchmark.sizes.contains_key(&suite.default_size) {
                return Err(text.error(
                    place,
                    format!(
                        "benchmark `{name}` lacks the suite's default size `{}`",
                        suite.default_size
                    ),
                    format!("add that size to {}", benchmark_path.display()),
                ));
            }
            suite.benchmarks.push(benchmark);
        }
        Ok(suite)
    }

    /// Reads and checks one benchmark's manifest for `suite`.
    fn load_benchmark(path: &Path, suite: &Suite) -> Result<Benchmark, ManifestError> {
        let content = read(path, || "is it readable?".to_owned())?;
        let text = Text {
            path,
            content: &content,
        };
        let file: BenchmarkFile = parse(text)?;
        check::benchmark(text, suite, file)
    }
}

fn read(path: &Path, mend: impl FnOnce() -> String) -> Result<String, ManifestError> {
    fs::read_to_string(path).map_err(|source| ManifestError::Unreadable {
        path: path.to_owned(),
        source,
        mend: mend(),
    })
}

fn parse<T: DeserializeOwned>(text: Text<'_>) -> Result<T, ManifestError> {
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text.content, options)
        .map_err(|error| text.yaml_error(&error))
}
