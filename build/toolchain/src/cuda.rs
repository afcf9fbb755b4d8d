//! Chooses where the CUDA components come from.

pub(crate) mod merge;
pub mod proprietary;
pub(crate) mod toolkit;
pub(crate) mod wheels;

use crate::variable;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::check;
use crate::llvm::Llvm;
use crate::missing::MissingTool;
use crate::search::Search;
use crate::version::Version;
use toolkit::ToolkitError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuda {
    pub root: PathBuf,
    pub version: Version,
    pub ptxas: PathBuf,
    pub fatbinary: PathBuf,
    pub include: PathBuf,
    pub libdevice: PathBuf,
    pub cudart: PathBuf,
}

impl Cuda {
    /// Returns the newest tested PTX version that this `ptxas` accepts, in the form that `llc -mattr=+…` accepts, such
    /// as `ptx88`. Source: the release history in NVIDIA's PTX ISA manual.
    pub fn ptx_feature(&self) -> &'static str {
        match (self.version.major, self.version.minor) {
            (..12, _) | (12, 0) => "ptx80",
            (12, 1) => "ptx81",
            (12, 2) => "ptx82",
            (12, 3) => "ptx83",
            (12, 4) => "ptx84",
            (12, 5 | 6) => "ptx85",
            (12, 7) => "ptx86",
            (12, 8) => "ptx87",
            _ => "ptx88",
        }
    }
}

/// Searches only [`variable::CUDA`] if it is set, otherwise `CUDA_PATH`, `CUDA_HOME`, the usual folders, and finally
/// the wheels in the cache. An installed toolkit must also compile a small program with the Clang in `llvm`, if given;
/// rejected toolkits are added to `rejected`, each with the reason.
pub(crate) fn locate(
    search: &Search,
    llvm: Option<&Llvm>,
    rejected: &mut Vec<String>,
) -> Result<Cuda, Vec<MissingTool>> {
    let missing = |name: &str, why, hint: &str| {
        let (name, hint) = (name.to_owned(), hint.to_owned());
        vec![MissingTool { name, why, hint }]
    };
    if let Some(root) = search.path(variable::CUDA) {
        let hint = format!(
            "point {} at a complete toolkit of version 12.0 or newer, or unset it",
            variable::CUDA
        );
        return usable(search, &root, llvm)
            .map_err(|why| missing("CUDA toolkit", format!("{}: {why}", variable::CUDA), &hint));
    }
    for root in installed(search) {
        match usable(search, &root, llvm) {
            Ok(cuda) => return Ok(cuda),
            Err(why) => rejected.push(why.to_string()),
        }
    }
    let merged = wheels::folder(search).and_then(|folder| wheels::examine(&folder));
    merged.map_err(|why| {
        let why = [&rejected[..], &[why.to_string()]].concat().join("; ");
        let hint = "run `superstep setup` (in the repository, `cargo xtask setup`)";
        missing("CUDA compiler and runtime", why, hint)
    })
}

fn installed(search: &Search) -> Vec<PathBuf> {
    let variables = ["CUDA_PATH", "CUDA_HOME"].into_iter();
    let variables = variables.filter_map(|name| search.path(name));
    let mut roots: Vec<PathBuf> = variables.chain(search.cuda_roots.clone()).collect();
    let mut seen = HashSet::new();
    roots.retain(|root| root.is_dir() && seen.insert(root.clone()));
    roots
}

fn usable(search: &Search, root: &Path, llvm: Option<&Llvm>) -> Result<Cuda, ToolkitError> {
    let cuda = toolkit::examine(root)?;
    if let Some(llvm) = llvm {
        let checked = check::cached(search.cache_dir().as_deref(), llvm, &cuda);
        let root = root.to_owned();
        checked.map_err(|failure| ToolkitError::Check { root, failure })?;
    }
    Ok(cuda)
}

#[cfg(test)]
mod tests;
