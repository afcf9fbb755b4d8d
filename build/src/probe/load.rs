//! Loads a probe: a built-in one by name, or one from a YAML file.

use std::path::{Path, PathBuf};

use superstep_trace::ProbeSpec;

use super::definition::Definition;
use crate::bail;
use crate::failure::Failure;
use crate::installation::{Installation, names_in};
use crate::manifest::error::Text;
use crate::nearest::did_you_mean;

/// The probes that `superstep inject` uses: the first counts executions, the second flips a bit.
pub const INJECTION: [&str; 2] = ["injection-profile", "injection"];

#[derive(Debug, Clone)]
pub struct Probe {
    pub spec: ProbeSpec,
    pub file: PathBuf,
    pub handler: PathBuf,
    pub host: Option<PathBuf>,
}

impl Probe {
    pub fn load(name: &str, installation: &Installation) -> Result<Probe, Failure> {
        let path = find(name, installation)?;
        let text = Text::read(&path, "docs/probes.md", "expected a probe's YAML file")?;
        let definition: Definition = text.parse()?;
        text.check(definition.checked(&path))
    }
}

/// Returns the names of the built-in probes, sorted, without those of `superstep inject`.
pub fn builtin(installation: &Installation) -> Result<Vec<String>, Failure> {
    let files = names_in(&installation.folder("probes/builtin")?);
    let names = files.iter().filter_map(|file| file.strip_suffix(".yaml"));
    let names = names.filter(|name| !INJECTION.contains(name));
    Ok(names.map(str::to_owned).collect())
}

fn find(name: &str, installation: &Installation) -> Result<PathBuf, Failure> {
    let direct = Path::new(name);
    if direct.extension().is_some() || name.contains('/') {
        return Ok(direct.to_owned());
    }
    let folder = installation.folder("probes/builtin")?;
    let path = folder.join(format!("{name}.yaml"));
    if path.is_file() {
        return Ok(path);
    }
    let names = builtin(installation)?;
    bail!(
        Usage,
        "failed to find the probe `{name}`{}; expected a YAML file or one of {}",
        did_you_mean(name, names.iter().map(String::as_str)),
        names.join(", ")
    )
}
