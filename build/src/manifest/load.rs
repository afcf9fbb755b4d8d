//! Reads a suite's folder: `suite.yaml`, then the manifest of every benchmark that it lists.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::check;
use super::error::{ManifestError, Text};
use super::model::{Benchmark, Suite};
use super::schema::SuiteFile;
use super::spans::Located;

/// Entry point for reading manifests.
#[derive(Debug, Clone, Copy)]
pub struct Manifest;

impl Manifest {
    /// Reads `suite.yaml` and the manifests of all its benchmarks from `folder`, and checks them.
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
        let (mut suite, names) = suite(text, folder)?;
        for name in names {
            let benchmark_path = folder.join(format!("{}.yaml", name.value));
            if !benchmark_path.is_file() {
                return Err(text.error(
                    name.referenced,
                    format!(
                        "benchmark `{}` has no manifest {}",
                        name.value,
                        benchmark_path.display()
                    ),
                    "write that file or remove the name from the list",
                ));
            }
            let content = read(&benchmark_path, || "is it readable?".to_owned())?;
            let read = benchmark(
                Text {
                    path: &benchmark_path,
                    content: &content,
                },
                &suite,
            )?;
            if !read.sizes.contains_key(&suite.default_size) {
                return Err(text.error(
                    name.referenced,
                    format!(
                        "benchmark `{}` lacks the suite's default size `{}`",
                        name.value, suite.default_size
                    ),
                    format!("add that size to {}", benchmark_path.display()),
                ));
            }
            suite.benchmarks.push(read);
        }
        Ok(suite)
    }
}

/// A suite without its benchmarks, and their names.
pub(super) fn suite(
    text: Text<'_>,
    folder: &Path,
) -> Result<(Suite, Vec<Located<String>>), ManifestError> {
    let mut file: SuiteFile = parse(text)?;
    let names = std::mem::take(&mut file.benchmarks.value);
    check::names(text, file.benchmarks.referenced, &names)?;
    let groups = check::groups(text, &names, std::mem::take(&mut file.groups))?;
    let suite = Suite {
        groups,
        ..check::suite(text, folder, file)?
    };
    Ok((suite, names))
}

pub(super) fn benchmark(text: Text<'_>, suite: &Suite) -> Result<Benchmark, ManifestError> {
    check::benchmark(text, suite, parse(text)?)
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
