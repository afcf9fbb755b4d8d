//! The programs in the pipeline, and their identities for cache keys.

use std::path::PathBuf;

use superstep_toolchain::{LLVM_MAJOR, Toolchain};

use crate::compile::steps::hash;
use crate::compile::steps::stage::Tool;
use crate::compile::{BuildError, Result};
use crate::installation::Installation;

#[derive(Debug, Clone)]
pub struct Toolset {
    pub(crate) clangxx: Tool,
    pub(crate) llc: Tool,
    pub(crate) llvm_link: Tool,
    pub(crate) ptxas: Tool,
    pub(crate) fatbinary: Tool,
    pub(crate) instrumenter: Tool,
    pub(crate) clang_include: PathBuf,
    pub(crate) cuda_root: PathBuf,
    pub(crate) cuda_include: PathBuf,
    pub(crate) cuda_version: String,
    pub(crate) cudart: PathBuf,
    pub(crate) ptx_feature: &'static str,
}

impl Toolset {
    pub fn new(toolchain: &Toolchain, installation: &Installation) -> Result<Self> {
        let (llvm, cuda) = (&toolchain.llvm, &toolchain.cuda);
        let of_llvm = |name| Tool {
            path: llvm.tool(name),
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
            clangxx: of_llvm("clang++"),
            llc: of_llvm("llc"),
            llvm_link: of_llvm("llvm-link"),
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
