//! Reads a suite's folder: `suite.yaml`, then the manifest of every benchmark that it lists.

use std::fs;
use std::path::Path;

use super::check;
use super::error::{ManifestError, Text};
use super::model::{Benchmark, Suite};
use super::schema::SuiteFile;
use super::spans::Located;

#[derive(Debug, Clone, Copy)]
pub struct Manifest;

impl Manifest {
    /// Reads `suite.yaml` and the manifests of all its benchmarks from `folder`, and checks them.
    pub fn load_suite(folder: &Path) -> Result<Suite, ManifestError> {
        let path = folder.join("suite.yaml");
        let shown = folder.display();
        let mend = format!("a suite is a folder with a suite.yaml; is {shown} the right folder?");
        let content = read(&path, &mend)?;
        let text = Text {
            path: &path,
            content: &content,
        };
        let (mut suite, names) = suite(text, folder)?;
        for name in names {
            let (place, name) = (name.referenced, &name.value);
            let path = folder.join(format!("{name}.yaml"));
            let shown = path.display();
            text.require(
                path.is_file(),
                place,
                format!("benchmark `{name}` has no manifest {shown}"),
                "write that file or remove the name from the list",
            )?;
            let content = read(&path, "is it readable?")?;
            let own_text = Text {
                path: &path,
                content: &content,
            };
            let benchmark = benchmark(own_text, &suite)?;
            let default = &suite.default_size;
            text.require(
                benchmark.sizes.contains_key(default),
                place,
                format!("benchmark `{name}` lacks the suite's default size `{default}`"),
                format!("add that size to {shown}"),
            )?;
            suite.benchmarks.push(benchmark);
        }
        Ok(suite)
    }
}

/// A suite without its benchmarks, and their names.
pub(super) fn suite(
    text: Text<'_>,
    folder: &Path,
) -> Result<(Suite, Vec<Located<String>>), ManifestError> {
    let mut file: SuiteFile = text.parse()?;
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
    check::benchmark(text, suite, text.parse()?)
}

/// The content of a manifest; `mend` says what to do where it cannot be read.
pub(crate) fn read(path: &Path, mend: &str) -> Result<String, ManifestError> {
    fs::read_to_string(path).map_err(|source| ManifestError::Unreadable {
        path: path.to_owned(),
        source,
        mend: mend.to_owned(),
    })
}
