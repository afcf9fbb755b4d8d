//! Finds, checks and installs Clang and LLVM 22 from the distribution's packages, and the CUDA compiler components from
//! an installed toolkit or from pinned wheels in a per-user cache.

pub mod check;
pub mod gpu;
pub mod variable;

mod cache;
mod cuda;
mod hash;
mod install;
mod llvm;
mod missing;
mod packages;
mod search;
mod version;

pub use cache::{CacheLock, OpenCache, cache_dir, check_private, replace_file};
pub use cuda::toolkit::ToolkitError;
pub use cuda::wheels::{PINS, Wheel, WheelError};
pub use cuda::{Cuda, proprietary};
pub use hash::{KeyHasher, Sha256, hash_bytes, hash_file};
pub use install::InstallError;
pub use llvm::{LLVM_MAJOR, LLVM_PREFIX_VARIABLE, Llvm};
pub use missing::{Missing, MissingTool};
pub use packages::{PackageError, all_to_run as all_packages_to_run, install as install_packages};
pub use search::{Purpose, Search};
pub use version::{Version, VersionError};

/// Callback that receives a line of text for each long step.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    pub llvm: Llvm,
    pub cuda: Cuda,
}

impl Toolchain {
    pub fn locate() -> Result<Toolchain, Missing> {
        Survey::here(Purpose::Run).toolchain()
    }

    /// Like [`Toolchain::locate`], but fetches the wheels into the cache if only the CUDA components are missing and
    /// the user has not specified a toolkit.
    pub fn locate_or_fetch(progress: Progress) -> Result<Toolchain, InstallError> {
        install::fetch(&Search::from_environment(Purpose::Run), progress)
    }

    /// Installs the tools missing for `purpose`: packages as root or with passwordless sudo, wheels with pip.
    pub fn install(purpose: Purpose, progress: Progress) -> Result<Toolchain, InstallError> {
        install::install(&Search::from_environment(purpose), progress)
    }
}

#[derive(Debug)]
pub struct Survey {
    pub llvm: Result<Llvm, Vec<MissingTool>>,
    pub cuda: Result<Cuda, Vec<MissingTool>>,
    /// Installed toolkits that are not used, each with the reason. Empty if [`variable::CUDA`] names a toolkit, since
    /// in that case no others are tried.
    pub rejected: Vec<String>,
}

impl Survey {
    pub fn here(purpose: Purpose) -> Survey {
        Self::of(&Search::from_environment(purpose))
    }

    pub fn of(search: &Search) -> Survey {
        let llvm = llvm::locate(search);
        let mut rejected = Vec::new();
        let cuda = cuda::locate(search, llvm.as_ref().ok(), &mut rejected);
        Survey {
            llvm,
            cuda,
            rejected,
        }
    }

    pub fn toolchain(self) -> Result<Toolchain, Missing> {
        match (self.llvm, self.cuda) {
            (Ok(llvm), Ok(cuda)) => Ok(Toolchain { llvm, cuda }),
            (llvm, cuda) => Err(Missing {
                tools: llvm.err().into_iter().chain(cuda.err()).flatten().collect(),
            }),
        }
    }
}
