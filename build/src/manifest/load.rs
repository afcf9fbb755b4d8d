//! Reads a suite's folder: `suite.yaml`, then the manifest of every benchmark that it lists.

use std::path::Path;

use super::error::{Result, Text};
use super::model::{Benchmark, Suite};
use super::position::Step;
use super::validate::{At, Valid, require};

pub(super) const MANUAL: &str = "docs/manifest.md";

/// Reads `suite.yaml` and the manifests of all its benchmarks from `folder`, and checks them.
pub fn load_suite(folder: &Path) -> Result<Suite> {
    let path = folder.join("suite.yaml");
    let shown = folder.display();
    let hint = format!("a suite is a folder with a suite.yaml; is {shown} the right folder?");
    let text = Text::read(&path, MANUAL, &hint)?;
    let mut suite = suite(&text, folder)?;
    for (index, name) in suite.names.iter().enumerate() {
        let check = |valid: Valid| text.check(valid.at(Step::Index(index)).at("benchmarks"));
        let path = folder.join(format!("{name}.yaml"));
        let shown = path.display();
        check(require(
            path.is_file(),
            format!("benchmark `{name}` has no manifest {shown}"),
            "create that file or remove the name from the list",
        ))?;
        let benchmark = benchmark(&Text::read(&path, MANUAL, "check its permissions")?, &suite)?;
        let default = &suite.default_size;
        check(require(
            benchmark.sizes.contains_key(default),
            format!("benchmark `{name}` lacks the suite's default size `{default}`"),
            format!("add that size to {shown}"),
        ))?;
        suite.benchmarks.push(benchmark);
    }
    Ok(suite)
}

pub(super) fn suite(text: &Text<'_>, folder: &Path) -> Result<Suite> {
    let mut suite: Suite = text.parse()?;
    text.check(suite.validate())?;
    folder.clone_into(&mut suite.folder);
    Ok(suite)
}

pub(super) fn benchmark(text: &Text<'_>, suite: &Suite) -> Result<Benchmark> {
    let mut benchmark: Benchmark = text.parse()?;
    let stem = text.path.file_stem().unwrap_or_default().to_string_lossy();
    text.check(benchmark.validate(&suite.source, &stem))?;
    text.path.clone_into(&mut benchmark.manifest);
    Ok(benchmark)
}
