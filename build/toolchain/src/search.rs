//! Places to search: the environment and the usual folders, gathered once so that tests can replace them.

use std::collections::BTreeMap;
use std::ffi::OsString;
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
    variables: BTreeMap<String, OsString>,
    pub(crate) llvm_prefixes: Vec<PathBuf>,
    pub(crate) cuda_roots: Vec<PathBuf>,
}

impl Search {
    pub fn from_environment(purpose: Purpose) -> Search {
        // All variables of interest have UTF-8 names.
        let variables = std::env::vars_os();
        Search {
            purpose,
            variables: variables
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
                .collect(),
            llvm_prefixes: vec![
                PathBuf::from("/usr/lib/llvm-22"),
                PathBuf::from("/usr/local/llvm-22"),
            ],
            cuda_roots: vec![PathBuf::from("/usr/local/cuda"), PathBuf::from("/opt/cuda")],
        }
    }

    pub fn nowhere() -> Search {
        Search {
            purpose: Purpose::Build,
            variables: BTreeMap::new(),
            llvm_prefixes: Vec::new(),
            cuda_roots: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Search {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables
            .get(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    }

    pub(crate) fn in_path(&self, name: &str) -> Option<PathBuf> {
        let folders = self.variables.get("PATH")?;
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
