//! Programs with a default stream per host thread, which nvcc builds with `--default-stream per-thread`.
//!
//! A macro makes CUDA's headers call per-thread functions, and Clang's flag does the same for kernel launches. nvcc
//! launches kernels through functions in a header, so it needs only the macro.

use crate::manifest::Flags;

const MACRO: &str = "CUDA_API_PER_THREAD_DEFAULT_STREAM";

/// Clang's flag, passed directly to the front end because the driver accepts it only for HIP.
pub(crate) const FLAGS: [&str; 2] = ["-Xclang", "-fgpu-default-stream=per-thread"];

pub(crate) const DEFINITION: &str = "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1";

/// Translates nvcc's or Clang's flag for per-thread default streams to the definition of the macro, and a flag for the
/// legacy default stream to `None`. Returns other flags unchanged.
pub(crate) fn translated(word: &str) -> Option<&str> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let names = [
        "--default-stream",
        "-default-stream",
        "-fgpu-default-stream",
    ];
    match Some(value).filter(|_| names.contains(&name)) {
        Some("per-thread") => Some(DEFINITION),
        Some("legacy" | "null") => None,
        _ => Some(word),
    }
}

pub(crate) fn is_per_thread(flags: &Flags) -> bool {
    let flags = [&flags.all, &flags.device, &flags.host];
    let words = flags.into_iter().flatten();
    let mut is_defined = false;
    let mut previous = "";
    for word in words.filter_map(|word| translated(word)) {
        let affects_macro = |flag: &str| match word.strip_prefix(flag) {
            Some(name) if name.split('=').next() == Some(MACRO) => true,
            _ => previous == flag && word.split('=').next() == Some(MACRO),
        };
        is_defined = affects_macro("-D") || is_defined && !affects_macro("-U");
        previous = word;
    }
    is_defined
}

#[cfg(test)]
mod tests;
