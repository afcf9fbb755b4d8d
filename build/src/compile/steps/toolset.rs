//! The programs in the pipeline, and their identities for cache keys.

use std::path::PathBuf;

use superstep_toolchain::{Cuda, LLVM_MAJOR, Toolchain};

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
    pub(crate) cuda: Cuda,
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
        let identity = hash::of_file(&instrumenter);
        let identity = identity.map_err(BuildError::io("read", &instrumenter))?;
        Ok(Self {
            clangxx: of_llvm("clang++"),
            llc: of_llvm("llc"),
            llvm_link: of_llvm("llvm-link"),
            ptxas: of_cuda(&cuda.ptxas),
            fatbinary: of_cuda(&cuda.fatbinary),
            instrumenter: Tool {
                path: instrumenter,
                identity,
            },
            clang_include: llvm.prefix.join(format!("lib/clang/{LLVM_MAJOR}/include")),
            cuda: cuda.clone(),
        })
    }
}
