//! The programs of the pipeline with what identifies their versions.

use std::path::PathBuf;

use superstep_toolchain::{LLVM_MAJOR, Toolchain};

use super::error::BuildError;
use super::hash;
use super::stage::Tool;
use crate::installation::Installation;

#[derive(Debug, Clone)]
pub struct Toolset {
    pub(super) clangxx: Tool,
    pub(super) llc: Tool,
    pub(super) llvm_link: Tool,
    pub(super) ptxas: Tool,
    pub(super) fatbinary: Tool,
    pub(super) instrumenter: Tool,
    /// Clang's own headers.
    pub(super) clang_include: PathBuf,
    pub(super) cuda_root: PathBuf,
    pub(super) cuda_include: PathBuf,
    /// 12.9.86
    pub(super) cuda_version: String,
    pub(super) cudart: PathBuf,
    pub(super) ptx_feature: &'static str,
}

impl Toolset {
    /// The tools of `toolchain` and the instrumenter of `installation`.
    pub fn new(toolchain: &Toolchain, installation: &Installation) -> Result<Self, BuildError> {
        let (llvm, cuda) = (&toolchain.llvm, &toolchain.cuda);
        let of_llvm = |path: &PathBuf| Tool {
            path: path.clone(),
            identity: format!("llvm {}", llvm.version),
        };
        let of_cuda = |path: &PathBuf| Tool {
            path: path.clone(),
            identity: format!("cuda {}", cuda.version),
        };
        let instrumenter = installation.instrumenter()?;
        let instrumenter_hash =
            hash::of_file(&instrumenter).map_err(BuildError::io("read", &instrumenter))?;
        Ok(Self {
            clangxx: of_llvm(&llvm.clangxx),
            llc: of_llvm(&llvm.llc),
            llvm_link: of_llvm(&llvm.llvm_link),
            ptxas: of_cuda(&cuda.ptxas),
            fatbinary: of_cuda(&cuda.fatbinary),
            instrumenter: Tool {
                path: instrumenter,
                identity: instrumenter_hash,
            },
            clang_include: llvm.prefix.join(format!("lib/clang/{LLVM_MAJOR}/include")),
            cuda_root: cuda.root.clone(),
            cuda_include: cuda.include.clone(),
            cuda_version: cuda.version.to_string(),
            cudart: cuda.cudart.clone(),
            ptx_feature: cuda.ptx_feature(),
        })
    }
}
