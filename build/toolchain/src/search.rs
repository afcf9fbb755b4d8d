//! Places to search: the environment and the usual folders, gathered once so that tests can replace them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::cache::cache_dir_from;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Run,
    Build,
}

#[derive(Debug, Clone)]
pub struct Search {
    pub(crate) purpose: Purpose,
    variables: BTreeMap<OsString, OsString>,
    pub(crate) llvm_prefixes: Vec<PathBuf>,
    pub(crate) cuda_roots: Vec<PathBuf>,
}

impl Search {
    pub fn from_environment(purpose: Purpose) -> Search {
        Search {
            purpose,
            variables: std::env::vars_os().collect(),
            llvm_prefixes: ["/usr/lib/llvm-22", "/usr/local/llvm-22"]
                .map(PathBuf::from)
                .into(),
            cuda_roots: ["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from).into(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        // Fails for an empty value, which counts as unset.
        std::path::absolute(self.variables.get(OsStr::new(name))?).ok()
    }

    pub(crate) fn in_path(&self, name: &str) -> Option<PathBuf> {
        let folders = self.variables.get(OsStr::new("PATH"))?;
        std::env::split_paths(folders)
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
    }

    pub(crate) fn cache_dir(&self) -> Option<PathBuf> {
        cache_dir_from(|name| self.path(name))
    }
}

#[cfg(test)]
pub(crate) mod tests;
