//! Reads a probe: a built-in one by name, or a YAML file.

use std::fs;
use std::path::{Path, PathBuf};

use superstep_trace::ProbeSpec;

use super::check;
use crate::failure::{Failure, FailureKind};
use crate::installation::Installation;
use crate::manifest::error::Text;
use crate::manifest::load::read;

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
        let text = Text {
            path: &path,
            content: &read(&path, "give a probe's YAML file")?,
        };
        Ok(check::probe(text, text.parse()?)?)
    }
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
    let mut names: Vec<String> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let file = entry.ok()?.file_name().into_string().ok()?;
            Some(file.strip_suffix(".yaml")?.to_owned())
        })
        .collect();
    names.sort();
    let message = format!(
        "failed to find the probe `{name}`; expected a YAML file or one of {}",
        names.join(", ")
    );
    Err(Failure::new(FailureKind::Usage, message))
}
