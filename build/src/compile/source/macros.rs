//! Macros that nvcc defines for every file, and that headers and programs test. `__NVCC__` is not among them: in CUDA
//! files, it selects code that only nvcc accepts.

use std::collections::BTreeSet;

use superstep_toolchain::Version;

/// Returns the flags for the macros. `version` is the version of the toolkit that provides the headers; `architectures`
/// are the compilation targets.
pub(crate) fn nvcc_macros(version: Version, architectures: &[u32]) -> Vec<String> {
    let (major, minor) = (version.major, version.minor);
    let mut flags = vec![
        format!("-D__CUDACC_VER_MAJOR__={major}"),
        format!("-D__CUDACC_VER_MINOR__={minor}"),
        format!("-D__CUDACC_VER_BUILD__={}", version.patch),
        format!("-D__CUDA_API_VER_MAJOR__={major}"),
        format!("-D__CUDA_API_VER_MINOR__={minor}"),
        "-D__NVCC_DIAG_PRAGMA_SUPPORT__=1".into(),
    ];
    // `nv_atomics.h` always provides the builtins.
    flags.push("-D__CUDACC_DEVICE_ATOMIC_BUILTINS__=1".into());
    if !architectures.is_empty() {
        let list: BTreeSet<u32> = architectures.iter().copied().collect();
        let list: Vec<String> = list.iter().map(|arch| format!("{arch}0")).collect();
        // Clang defines it too, but only with the architecture that it is compiling for.
        flags.push("-U__CUDA_ARCH_LIST__".into());
        flags.push(format!("-D__CUDA_ARCH_LIST__={}", list.join(",")));
    }
    flags
}

#[cfg(test)]
mod tests;
