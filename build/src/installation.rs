//! Finds Superstep's own files: built binaries next to the running executable, device sources in the repository.

use std::path::{Path, PathBuf};

use crate::compile::{BuildError, Result};
use superstep_toolchain::variable;

/// Superstep's own files. Each is checked on first use, so that commands that only read captures work anywhere.
#[derive(Debug, Clone)]
pub struct Installation {
    /// Folder of the running executable; the built binaries and libraries are next to it.
    pub binaries: PathBuf,
    pub root: Option<PathBuf>,
}

impl Installation {
    /// Finds the executable's folder and the repository: [`variable::ROOT`] if set, else a folder above the executable,
    /// or else one above the working folder.
    pub fn find() -> Self {
        let executable = std::env::current_exe()
            .and_then(|path| path.canonicalize())
            .unwrap_or_default();
        let binaries = executable.parent().map(Path::to_owned).unwrap_or_default();
        let from_variable = std::env::var_os(variable::ROOT).filter(|value| !value.is_empty());
        let root = (from_variable.map(PathBuf::from))
            .or_else(|| find_root(&binaries))
            .or_else(|| find_root(&std::env::current_dir().ok()?));
        Self { binaries, root }
    }

    pub fn instrumenter(&self) -> Result<PathBuf> {
        self.binary("superstep-instrument")
    }

    pub fn cpu_runtime(&self) -> Result<PathBuf> {
        self.binary("libsuperstep_cudart_cpu.so")
    }

    pub fn cuda_runtime(&self) -> Result<PathBuf> {
        self.binary("libsuperstep_cuda.so")
    }

    pub fn folder(&self, relative: &str) -> Result<PathBuf> {
        let why = match self.root.as_ref().map(|root| root.join(relative)) {
            Some(folder) if folder.is_dir() => return Ok(folder),
            Some(folder) => format!("{} is not a folder", folder.display()),
            None => "there is no repository above the executable or the working folder".to_owned(),
        };
        Err(BuildError::installation(
            format!("the folder {relative}"),
            format!("{why}; set {} to the repository's root", variable::ROOT),
        ))
    }

    /// Returns the folder of a suite: `suites/<name>`, or `name` itself if it is a folder with a `suite.yaml`.
    pub fn suite(&self, name: &str) -> PathBuf {
        let direct = Path::new(name);
        if direct.join("suite.yaml").is_file() || name.contains('/') {
            return direct.to_owned();
        }
        let root = self.root.as_deref().unwrap_or(Path::new(""));
        root.join("suites").join(name)
    }

    /// Returns the names of the installation's suites, sorted.
    pub fn suites(&self) -> Vec<String> {
        let folder = self.root.as_deref().unwrap_or(Path::new("")).join("suites");
        let names = names_in(&folder);
        let has_manifest = |name: &String| folder.join(name).join("suite.yaml").is_file();
        names.into_iter().filter(has_manifest).collect()
    }

    fn binary(&self, name: &str) -> Result<PathBuf> {
        let path = self.binaries.join(name);
        if path.is_file() {
            return Ok(path);
        }
        Err(BuildError::installation(
            name,
            format!(
                "it is not next to the executable in {}; unpack the archive again (in the repository, run `cargo xtask build`)",
                self.binaries.display()
            ),
        ))
    }
}

/// Returns the names of the files and folders in `folder`, sorted; empty if it cannot be read.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn find_root(from: &Path) -> Option<PathBuf> {
    from.ancestors()
        .find(|folder| folder.join("runtime/cpu/device").is_dir() && folder.join("suites").is_dir())
        .map(Path::to_owned)
}

#[cfg(test)]
mod tests;
