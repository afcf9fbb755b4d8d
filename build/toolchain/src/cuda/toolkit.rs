//! Determines whether a folder is a complete CUDA toolkit and, if so, of which version.

use crate::variable::CACHE;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cache::OpenCache;
use crate::check::CheckFailure;
use crate::cuda::Cuda;
use crate::version::{self, Version, VersionError};

/// The oldest supported toolkit: `ptxas` must support sm_90, and the runtime must be `libcudart.so.12` or newer.
pub(crate) const OLDEST: Version = Version {
    major: 12,
    minor: 0,
    patch: 0,
};

#[derive(Debug, Error)]
pub enum ToolkitError {
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("{} has no {}", root.display(), absent.join(", "))]
    Incomplete { root: PathBuf, absent: Vec<String> },
    #[error(transparent)]
    NoVersion(#[from] VersionError),
    #[error("{} is version {version}, but {OLDEST} or newer is needed", root.display())]
    TooOld { root: PathBuf, version: Version },
    #[error("{}: {failure}", root.display())]
    Check {
        root: PathBuf,
        failure: CheckFailure,
    },
    #[error("no cache folder: none of {CACHE}, XDG_CACHE_HOME and HOME is set; set one of them")]
    NoCacheFolder,
    #[error(transparent)]
    OpenCache(#[from] OpenCache),
    #[error("{} was assembled from different wheels", .0.display())]
    DifferentWheels(PathBuf),
    #[error("the wheels are not in the cache yet ({})", .0.display())]
    NotFetched(PathBuf),
}

pub(crate) fn examine(root: &Path) -> Result<Cuda, ToolkitError> {
    if !root.is_dir() {
        return Err(ToolkitError::NotAFolder(root.to_owned()));
    }
    let ptxas = root.join("bin/ptxas");
    let fatbinary = root.join("bin/fatbinary");
    let include = root.join("include");
    let libdevice = root.join("nvvm/libdevice/libdevice.10.bc");
    let mut absent: Vec<String> = [
        ptxas.clone(),
        fatbinary.clone(),
        include.join("cuda_runtime.h"),
        include.join("curand_mtgp32_kernel.h"),
        libdevice.clone(),
    ]
    .iter()
    .filter(|file| !file.is_file())
    .map(|file| file.strip_prefix(root).unwrap_or(file))
    .map(|file| file.display().to_string())
    .collect();
    let cudart = shared_runtime(root);
    if cudart.is_none() {
        absent.push("lib64/libcudart.so.12".to_owned());
    }
    let root = root.to_owned();
    let (Some(cudart), true) = (cudart, absent.is_empty()) else {
        return Err(ToolkitError::Incomplete { root, absent });
    };
    let version = version::query(&ptxas, ", V")?;
    if version < OLDEST {
        return Err(ToolkitError::TooOld { root, version });
    }
    Ok(Cuda {
        root,
        version,
        ptxas,
        fatbinary,
        include,
        libdevice,
        cudart,
    })
}

/// Finds the shared runtime under its versioned name (`libcudart.so.12`), which is also the name that linked programs
/// load.
fn shared_runtime(root: &Path) -> Option<PathBuf> {
    let mut folders = ["lib64", "lib", "targets/x86_64-linux/lib"].into_iter();
    folders.find_map(|folder| {
        let majors = (OLDEST.major..OLDEST.major + 20).rev();
        let mut files = majors.map(|major| root.join(folder).join(format!("libcudart.so.{major}")));
        files.find(|file| file.is_file())
    })
}

#[cfg(test)]
pub(crate) mod tests;
