//! Environment variables for users of Superstep; those for traced programs are in `superstep-abi`.

pub const CACHE: &str = "SUPERSTEP_CACHE";
pub const CUDA: &str = "SUPERSTEP_CUDA";
/// LLVM's prefix.
pub const LLVM: &str = "SUPERSTEP_LLVM";
/// The repository's root, for executables outside it.
pub const ROOT: &str = "SUPERSTEP_ROOT";
