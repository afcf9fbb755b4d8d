//! The CUDA components as wheels from the Python package index, pinned by version and SHA-256.
//!
//! pip fetches them, using whatever index, mirror, proxy and certificates the machine is configured to use. They are
//! merged into `<cache>/cuda-12.9-<hash>`, where the hash changes with the pins and with the merge rules.

use crate::variable::{CACHE, CUDA};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use thiserror::Error;

use crate::Progress;
use crate::cache::{CacheLock, OpenCache, check_private};
use crate::cuda::toolkit::{self, ToolkitError};
use crate::cuda::{Cuda, merge};
use crate::hash::{Sha256, hash_bytes, hash_file};
use crate::packages::last_lines;
use crate::search::Search;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// Package and version, as a pip requirement.
    pub requirement: &'static str,
    pub sha256: &'static str,
    pub bytes: u64,
    /// Folder in the wheel whose files are merged.
    pub(crate) folder: &'static str,
    /// Files and folders to extract from that folder.
    pub(crate) extracted: &'static [&'static str],
}

impl Wheel {
    pub(crate) fn package(&self) -> &'static str {
        let name = self.requirement.split("==").next();
        name.unwrap_or_default()
    }
}

pub(crate) const NVCC: Wheel = Wheel {
    requirement: "nvidia-cuda-nvcc-cu12==12.9.86",
    sha256: "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0",
    bytes: 40_546_229,
    folder: "nvidia/cuda_nvcc/",
    extracted: &["bin/ptxas", "include/", "nvvm/libdevice/"],
};

/// The wheels to fetch. `fatbinary` exists only in the 13.x compiler wheels; from 12.9's cubins, the one in the
/// smallest of these wheels produces the same files as the later ones.
pub const PINS: [Wheel; 6] = [
    NVCC,
    Wheel {
        requirement: "nvidia-cuda-runtime-cu12==12.9.79",
        sha256: "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3",
        bytes: 3_493_179,
        folder: "nvidia/cuda_runtime/",
        extracted: &["include/", "lib/libcudart.so.12"],
    },
    Wheel {
        requirement: "nvidia-cuda-cccl-cu12==12.9.27",
        sha256: "37869e17ce2e1ecec6eddf1927cca0f8c34e64fd848d40453df559091e2d7117",
        bytes: 3_152_243,
        folder: "nvidia/cuda_cccl/",
        extracted: &["include/"],
    },
    Wheel {
        requirement: "nvidia-cuda-nvcc==13.0.48",
        sha256: "d529c52d30c403cbf6fb17a3009530a48d94ea3ad99c990ad0301d9c744eb866",
        bytes: 37_409_350,
        folder: "nvidia/cu13/",
        extracted: &["bin/fatbinary"],
    },
    Wheel {
        requirement: "nvidia-nvml-dev-cu12==12.9.79",
        sha256: "8bb367913c62cb65be9ae386c58dbf573f1f9e2f01cae54abb87bf5f63c6069e",
        bytes: 120_263,
        folder: "nvidia/nvml_dev/",
        extracted: &["include/"],
    },
    Wheel {
        requirement: "nvidia-nvtx-cu12==12.9.79",
        sha256: "fec150986817f2b4e7eed72ed059f2dcb9ba3856b9a96134e448eac946a6952f",
        bytes: 85_504,
        folder: "nvidia/nvtx/",
        extracted: &["include/"],
    },
];

/// The file that marks a merged folder as complete and lists its wheels.
const STAMP: &str = "superstep-wheels.txt";

#[derive(Debug, Error)]
pub enum WheelError {
    #[error(transparent)]
    OpenCache(#[from] OpenCache),
    #[error("failed to run python3: {0}; install python3 and python3-pip")]
    NoPython(io::Error),
    #[error("failed to fetch the CUDA wheels: this python3 has no pip; install python3-pip")]
    NoPip,
    #[error(
        "failed to fetch the CUDA wheels: the SHA-256 of {} is {found}, not {expected}, so it was not used; the index or mirror that pip is configured for serves a different file", file.display()
    )]
    WrongHash {
        file: PathBuf,
        found: Sha256,
        expected: &'static str,
    },
    #[error(
        "failed to store the CUDA wheels in {}: no space left; free some space, or set {CACHE} to a folder on another disk",
        .0.display()
    )]
    DiskFull(PathBuf),
    /// pip's exit code does not explain why it failed; the last lines of its output do.
    #[error(
        "failed to fetch the CUDA wheels: `{line}` failed with {status}; configure pip for a reachable index that has them (for x86-64 Linux with glibc), or install CUDA 12.0 or newer and set \
         {CUDA} to its folder:\n{output}"
    )]
    Pip {
        line: String,
        status: ExitStatus,
        output: String,
    },
    #[error("failed to merge the CUDA wheels: {0}")]
    Merge(String),
    #[error("failed to merge the CUDA wheels: {0}")]
    Toolkit(#[from] ToolkitError),
    #[error("failed to store the CUDA wheels: {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

impl WheelError {
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> WheelError {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull => WheelError::DiskFull(path.clone()),
            _ => WheelError::Io {
                path: path.clone(),
                source,
            },
        }
    }
}

pub(crate) fn folder(search: &Search) -> Result<PathBuf, ToolkitError> {
    let hash = hash_bytes(stamp().as_bytes()).to_string();
    let cache = search.cache_dir().ok_or(ToolkitError::NoCacheFolder)?;
    Ok(cache.join(format!("cuda-12.9-{}", &hash[..12])))
}

/// Checks a merged folder. The stamp is written last, so a folder without it is incomplete.
pub(crate) fn examine(root: &Path) -> Result<Cuda, ToolkitError> {
    if let Some(cache) = root.parent() {
        check_private(cache)?;
    }
    match std::fs::read_to_string(root.join(STAMP)) {
        Ok(text) if text == stamp() => toolkit::examine(root),
        Ok(_) => Err(ToolkitError::DifferentWheels(root.to_owned())),
        Err(_) => Err(ToolkitError::NotFetched(root.to_owned())),
    }
}

fn stamp() -> String {
    let mut text = format!("merge rules {}\n", merge::RULES_VERSION);
    for wheel in PINS {
        text += &format!("{} sha256:{}\n", wheel.requirement, wheel.sha256);
    }
    text
}

pub(crate) fn install(search: &Search, progress: Progress) -> Result<PathBuf, WheelError> {
    let root = folder(search)?;
    let cache = root.parent().ok_or(ToolkitError::NoCacheFolder)?;
    check_private(cache)?;
    let _lock = CacheLock::acquire(cache, "cuda.lock", &mut || {
        progress("waiting for another installation of the CUDA wheels to finish");
    })
    .map_err(WheelError::io(cache))?;
    if examine(&root).is_ok() {
        return Ok(root);
    }
    let staging = tempfile::Builder::new()
        .prefix("cuda-staging-")
        .tempdir_in(cache)
        .map_err(WheelError::io(cache))?;

    let bytes: u64 = PINS.iter().map(|wheel| wheel.bytes).sum();
    let (count, megabytes) = (PINS.len(), bytes / 1_000_000);
    progress(&format!(
        "fetching {count} CUDA wheels with pip ({megabytes} MB)"
    ));
    let files = download(&PINS, &staging.path().join("wheels"), &[])?;
    progress("merging the CUDA wheels");
    let merged = staging.path().join("merged");
    for (wheel, file) in PINS.iter().zip(&files) {
        merge::extract(wheel, file, &merged)?;
    }
    merge::finish(&merged)?;
    toolkit::examine(&merged)?;
    let stamp_file = merged.join(STAMP);
    std::fs::write(&stamp_file, stamp()).map_err(WheelError::io(&stamp_file))?;

    if root.exists() {
        // A damaged folder is moved away first, so that no reader sees parts of the old and of the new folder.
        std::fs::rename(&root, staging.path().join("damaged")).map_err(WheelError::io(&root))?;
    }
    std::fs::rename(&merged, &root).map_err(WheelError::io(&root))?;
    Ok(root)
}

/// Downloads `wheels` into `dir` and returns their files in order, each checked against its pin. `settings` are
/// additional environment variables for pip.
pub(crate) fn download(
    wheels: &[Wheel],
    dir: &Path,
    settings: &[(&str, &Path)],
) -> Result<Vec<PathBuf>, WheelError> {
    std::fs::create_dir_all(dir).map_err(WheelError::io(dir))?;
    let disk = rustix::fs::statvfs(dir).map_err(|error| WheelError::io(dir)(error.into()))?;
    let bytes = wheels.iter().map(|wheel| wheel.bytes);
    if bytes.fold(0, u64::saturating_add) > disk.f_bavail.saturating_mul(disk.f_frsize) {
        return Err(WheelError::DiskFull(dir.to_owned()));
    }
    let requirements = dir.join("requirements.txt");
    let lines = wheels.iter();
    let lines =
        lines.map(|wheel| format!("{} --hash=sha256:{}\n", wheel.requirement, wheel.sha256));
    let lines: String = lines.collect();
    std::fs::write(&requirements, lines).map_err(WheelError::io(&requirements))?;

    let python = || {
        let mut python = Command::new("python3");
        python.envs(settings.iter().copied()).args(["-m", "pip"]);
        python
    };
    let mut pip = python();
    let download = "download --no-deps --require-hashes --only-binary=:all:";
    let options = "--disable-pip-version-check --no-input --progress-bar=off -d";
    pip.args(download.split(' ').chain(options.split(' ')))
        .arg(dir)
        .arg("-r")
        .arg(&requirements);
    let output = pip.output().map_err(WheelError::NoPython)?;
    if !output.status.success() {
        let version = python().arg("--version").output();
        if version.is_ok_and(|version| !version.status.success()) {
            return Err(WheelError::NoPip);
        }
        return Err(WheelError::Pip {
            line: format!("{pip:?}"),
            status: output.status,
            output: last_lines(&output),
        });
    }
    wheels.iter().map(|wheel| downloaded(wheel, dir)).collect()
}

fn downloaded(wheel: &Wheel, dir: &Path) -> Result<PathBuf, WheelError> {
    let start = wheel.requirement.replace('-', "_").replace("==", "-") + "-";
    let entries = std::fs::read_dir(dir).map_err(WheelError::io(dir))?;
    let absent = || WheelError::Merge(format!("pip created no {start}*.whl in {}", dir.display()));
    let file = (entries.filter_map(Result::ok))
        .find(|entry| entry.file_name().to_string_lossy().starts_with(&start))
        .map(|entry| entry.path())
        .ok_or_else(absent)?;
    let found = hash_file(&file).map_err(WheelError::io(&file))?;
    if Some(found) != Sha256::parse(wheel.sha256) {
        let expected = wheel.sha256;
        return Err(WheelError::WrongHash {
            file,
            found,
            expected,
        });
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
