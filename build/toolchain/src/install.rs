//! Installs missing tools: packages first, since checking a toolkit requires a compiler.

use crate::variable;
use thiserror::Error;

use crate::cuda::wheels::{self, WheelError};
use crate::llvm::{self, Llvm};
use crate::missing::Missing;
use crate::packages::{self, PackageError};
use crate::search::Search;
use crate::{Progress, Survey, Toolchain, check, cuda};

#[derive(Debug, Error)]
pub enum InstallError {
    #[error(transparent)]
    Packages(#[from] PackageError),
    #[error(transparent)]
    Wheels(#[from] WheelError),
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error("failed to compile a small CUDA program with the tools that were found: {0}")]
    Check(#[from] check::CheckFailure),
}

pub(crate) fn install(search: &Search, progress: Progress) -> Result<Toolchain, InstallError> {
    let llvm = match llvm::locate(search) {
        Ok(llvm) => llvm,
        Err(tools) if search.path(variable::LLVM).is_some() => Err(Missing { tools })?,
        Err(_) => {
            packages::install(&packages::needed(search.purpose), progress)?;
            llvm::locate(search).map_err(|tools| Missing { tools })?
        }
    };
    with_cuda(search, llvm, progress)
}

pub(crate) fn fetch(search: &Search, progress: Progress) -> Result<Toolchain, InstallError> {
    let survey = Survey::of(search);
    if let (Ok(llvm), Err(_)) = (&survey.llvm, &survey.cuda) {
        return with_cuda(search, llvm.clone(), progress);
    }
    Ok(survey.toolchain()?)
}

fn with_cuda(search: &Search, llvm: Llvm, progress: Progress) -> Result<Toolchain, InstallError> {
    let locate_cuda = || cuda::locate(search, Some(&llvm), &mut Vec::new());
    let cuda = match locate_cuda() {
        Ok(cuda) => cuda,
        Err(tools) if search.path(variable::CUDA).is_some() => Err(Missing { tools })?,
        Err(_) => {
            wheels::install(search, progress)?;
            locate_cuda().map_err(|tools| Missing { tools })?
        }
    };
    progress("checking the tools by compiling a small CUDA program");
    check::cached(search.cache_dir().as_deref(), &llvm, &cuda)?;
    Ok(Toolchain { llvm, cuda })
}

#[cfg(test)]
mod tests;
