//! Reads a suite's folder: `suite.yaml`, then the manifest of every benchmark that it lists.

use std::fs;
use std::path::Path;

use super::error::{ManifestError, Result, Text};
use super::model::{Benchmark, Suite};
use super::position::position;

/// Reads `suite.yaml` and the manifests of all its benchmarks from `folder`, and checks them.
pub fn load_suite(folder: &Path) -> Result<Suite> {
    let path = folder.join("suite.yaml");
    let shown = folder.display();
    let hint = format!("a suite is a folder with a suite.yaml; is {shown} the right folder?");
    let text = Text {
        path: &path,
        content: &read(&path, &hint)?,
    };
    let mut suite = suite(text, folder)?;
    for (index, name) in suite.names.iter().enumerate() {
        let place = || position(text.content, &["benchmarks".into(), index.into()]);
        let path = folder.join(format!("{name}.yaml"));
        let shown = path.display();
        if !path.is_file() {
            return Err(text.error(
                place(),
                format!("benchmark `{name}` has no manifest {shown}"),
                "write that file or remove the name from the list",
            ));
        }
        let own_text = Text {
            path: &path,
            content: &read(&path, "is it readable?")?,
        };
        let benchmark = benchmark(own_text, &suite)?;
        let default = &suite.default_size;
        if !benchmark.sizes.contains_key(default) {
            return Err(text.error(
                place(),
                format!("benchmark `{name}` lacks the suite's default size `{default}`"),
                format!("add that size to {shown}"),
            ));
        }
        suite.benchmarks.push(benchmark);
    }
    Ok(suite)
}

pub(super) fn suite(text: Text<'_>, folder: &Path) -> Result<Suite> {
    let mut suite: Suite = text.parse()?;
    suite.validate().map_err(|broken| text.broken(broken))?;
    folder.clone_into(&mut suite.folder);
    Ok(suite)
}

pub(super) fn benchmark(text: Text<'_>, suite: &Suite) -> Result<Benchmark> {
    let mut benchmark: Benchmark = text.parse()?;
    let stem = text.path.file_stem().unwrap_or_default().to_string_lossy();
    let valid = benchmark.validate(&suite.source, &stem);
    valid.map_err(|broken| text.broken(broken))?;
    text.path.clone_into(&mut benchmark.manifest);
    Ok(benchmark)
}

pub(crate) fn read(path: &Path, hint: &str) -> Result<String> {
    let text = fs::read_to_string(path);
    text.map_err(|error| ManifestError(format!("{}: {error}; {hint}", path.display())))
}
