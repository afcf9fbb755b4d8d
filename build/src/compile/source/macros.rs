//! Macros that nvcc defines for every file, and that headers and programs test. `__NVCC__` is not among them: in CUDA files it selects code
//! that only nvcc accepts.

/// Returns the flags for the macros. `version` is that of the toolkit whose headers are used, such as 12.9.86;
/// `architectures` are those that code is compiled for.
pub(crate) fn of_nvcc(version: &str, architectures: &[u32]) -> Vec<String> {
    let numbers: Vec<&str> = version.split('.').collect();
    let parts = [
        ("__CUDACC_VER_MAJOR__", 0),
        ("__CUDACC_VER_MINOR__", 1),
        ("__CUDACC_VER_BUILD__", 2),
        ("__CUDA_API_VER_MAJOR__", 0),
        ("__CUDA_API_VER_MINOR__", 1),
    ];
    let parts = (parts.iter())
        .filter_map(|(name, place)| Some(format!("-D{name}={}", numbers.get(*place)?)));
    let mut flags: Vec<String> = parts.collect();
    flags.push("-D__NVCC_DIAG_PRAGMA_SUPPORT__=1".into());
    // `nv_atomics.h` always provides the builtins.
    flags.push("-D__CUDACC_DEVICE_ATOMIC_BUILTINS__=1".into());
    if !architectures.is_empty() {
        let mut list = architectures.to_vec();
        list.sort_unstable();
        list.dedup();
        let list: Vec<String> = list.iter().map(|arch| format!("{arch}0")).collect();
        // Clang defines it too, with the one architecture that it compiles for.
        flags.push("-U__CUDA_ARCH_LIST__".into());
        flags.push(format!("-D__CUDA_ARCH_LIST__={}", list.join(",")));
    }
    flags
}

#[cfg(test)]
mod tests;
