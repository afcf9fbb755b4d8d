//! Environment variables of the person who uses Superstep; those of traced programs are in `superstep-abi`.

pub const CACHE: &str = "SUPERSTEP_CACHE";
pub const CUDA: &str = "SUPERSTEP_CUDA";
/// A prefix of LLVM.
pub const LLVM: &str = "SUPERSTEP_LLVM";
/// The repository, where the executable is outside of it.
pub const ROOT: &str = "SUPERSTEP_ROOT";
